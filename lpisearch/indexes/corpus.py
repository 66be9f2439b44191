"""Training corpus of a build: tokens, labels and known pairs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.indexes.resuming import labels_to_learn
from lpisearch.indexes.steps import Corpus
from lpisearch.storage import TOKENISER
from lpisearch.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.indexes.partitions import Partitions
    from lpisearch.indexes.stages import Stages
    from lpisearch.records import TokenShard
    from lpisearch.settings import IndexSpec
    from lpisearch.storage import Snapshot


def corpus_of(
    snapshot: Snapshot, spec: IndexSpec, stages: Stages, partitions: Partitions | None = None
) -> Corpus:
    """Return the documents that a build learns from.

    Raises
    ------
    BadOption
    """
    from lpisearch.classifiers.training import check_train

    labels = labels_to_learn(snapshot, spec)
    if spec.labels == "use" and not labels:
        raise BadOption("labels", "no document has a label")
    splits = snapshot.labels.splits_by_key(spec.where)
    check_train(spec.train, set(splits.values()))
    pairs, ids = _pairs(spec, snapshot)

    def shards() -> Iterator[TokenShard]:
        number, _ = snapshot.corpus.count_and_sum(spec.where)
        done = 0
        for shard in snapshot.corpus.shards(spec.where):
            yield shard
            done += len(shard.keys)
            stages.on_step(done, number)

    tokeniser = snapshot.settings.get(TOKENISER) or {}
    return Corpus(shards(), labels, splits, tokeniser, snapshot, pairs, ids, partitions=partitions)


def _pairs(
    spec: IndexSpec, snapshot: Snapshot
) -> tuple[list[tuple[str, int, int]], dict[int, str]]:
    """Find the documents of the pairs: their keys, and which id each key has."""
    if not spec.pairs:
        return [], {}
    keys = {name: key for key, name in snapshot.documents.ids().items()}
    named = [name for pair in spec.pairs for name in pair[1:]]
    unknown = [name for name in dict.fromkeys(named) if name not in keys]
    if unknown:
        raise BadOption("pairs", f"no document has the id {quoted(unknown[:3])}")
    found = [(kind, keys[first], keys[second]) for kind, first, second in spec.pairs]
    return found, {keys[name]: name for name in named}

"""Checkpoint location and fingerprint of a build, so that it can resume."""

from __future__ import annotations

import json
from contextlib import contextmanager
from hashlib import sha256
from typing import TYPE_CHECKING

from lpisearch.indexes.kept_files import in_files
from lpisearch.indexes.learn import library_versions
from lpisearch.indexes.projecting import Samples
from lpisearch.indexes.workspace import MemoryWorkspace
from lpisearch.storage import TOKENISER, open_store

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.indexes.places import IndexPlace
    from lpisearch.indexes.stages import Stages
    from lpisearch.indexes.workspace import Workspace
    from lpisearch.places import Place
    from lpisearch.records import IndexPlan
    from lpisearch.settings import IndexSpec
    from lpisearch.storage import Snapshot


@contextmanager
def workspace_of(
    library: Place, place: IndexPlace, spec: IndexSpec, plan: IndexPlan, stages: Stages
) -> Iterator[Workspace]:
    """Give what keeps the steps of a build: memory, or files for one that is long or large."""
    if not plan.in_files:
        yield MemoryWorkspace()
        return
    with open_store(library) as store, store.reading() as snapshot:
        key = build_key(snapshot, spec, Samples.of(plan))
    with in_files(place.folder, spec.name, key, place.mode, stages.stage) as workspace:
        yield workspace


def build_key(snapshot: Snapshot, spec: IndexSpec, samples: Samples) -> str:
    """Return what tells a build from all others: what it is made from, and how."""
    made = {
        "spec": spec.as_dict(),
        "learned_from": list(samples),
        "tokeniser": snapshot.settings.get(TOKENISER),
        "documents": snapshot.corpus.fingerprint(spec.where),
        "versions": library_versions(),
    }
    digest = sha256(json.dumps(made, sort_keys=True).encode())
    for told in (labels_to_learn(snapshot, spec), snapshot.labels.splits_by_key(spec.where)):
        for key in sorted(told):
            digest.update(json.dumps([key, told[key]]).encode())
    return digest.hexdigest()


def labels_to_learn(snapshot: Snapshot, spec: IndexSpec) -> dict[int, list[str]]:
    """Return what is learned from: given labels, and predicted ones where that is asked."""
    labels = snapshot.labels.by_key(spec.where)
    if spec.learn_predicted:
        others = [key for key in snapshot.corpus.content_hashes(spec.where) if key not in labels]
        for key, predicted in snapshot.labels.predicted(others).items():
            labels[key] = [each.label for each in predicted]
    return labels

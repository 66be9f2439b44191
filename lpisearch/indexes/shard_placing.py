"""Embed a shard's documents with a model trained elsewhere."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.compute.packed_rows import PackedRows
from lpisearch.indexes.index import FREQUENCIES, HASH_BYTES, TAKEN_IN, SubspaceIndex
from lpisearch.indexes.passages import cut_documents, place_passages
from lpisearch.indexes.postings import Whole, postings_of_rows
from lpisearch.indexes.scoring.document_terms import DocumentTerms

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.indexes.sharding import Shared
    from lpisearch.storage import Snapshot

    Array = NDArray[Any]

_PLACED_AT_ONCE = 10_000


def placed_arrays(snapshot: Snapshot, shared: Shared) -> dict[str, Array]:
    """Return the own arrays of a shard, as `write_shard` takes them.

    Parameters
    ----------
    snapshot
        To the documents of the shard.
    shared
        What all shards have.
    """
    from lpisearch.terms.counts import count_all_terms
    from lpisearch.terms.tokenisers import Tokenisers

    given = shared.arrays()
    whole = Whole(shared.documents, shared.mean_length, given[FREQUENCIES])
    keys: list[int] = []
    hashes: list[bytes] = []

    def texts() -> Iterator[Sequence[str]]:
        for shard in snapshot.corpus.shards(shared.manifest.spec.where):
            keys.extend(shard.keys)
            hashes.extend(shard.hashes)
            yield shard.tokens

    terms = tuple(given["lexicon"].tobytes().decode().split())
    _, every = count_all_terms(texts(), terms)
    counts = every.matrix[:, : len(terms)]
    postings = postings_of_rows(given, counts, every.lengths, whole)
    own: dict[str, Array] = {
        "document_rows": np.array(keys, np.int64),
        "content_hashes": np.frombuffer(b"".join(hashes), np.uint8).reshape(-1, HASH_BYTES),
        "taken_in": np.zeros((len(keys), len(TAKEN_IN)), np.int32),
        **{name: getattr(postings, name) for name in ("posting_starts", "posting_places")},
        **{name: getattr(postings, name) for name in ("posting_counts", "document_lengths")},
        **DocumentTerms.of_postings(postings).arrays(),
    }
    facts = {"documents": shared.documents, "mean_length": shared.mean_length}
    index = SubspaceIndex(replace(shared.manifest, shard=facts), given | own)
    own |= _places(index, counts)
    if shared.manifest.passages is None or not index.long_documents.size:
        return own
    places = index.long_documents.tolist()
    long = {keys[place]: place for place in places}
    tokeniser = Tokenisers().of(shared.manifest.tokeniser)
    return own | place_passages(index, cut_documents(snapshot, tokeniser, long)).arrays()


def _places(index: SubspaceIndex, counts: csr_array) -> dict[str, Array]:
    """Place documents; where those of all shards are packed, by the scales of all."""
    vectors = np.empty((counts.shape[0], len(index.scales)), np.float32)
    for start in range(0, len(vectors), _PLACED_AT_ONCE):
        some = slice(start, start + _PLACED_AT_ONCE)
        vectors[some] = index.project(index.by_column(counts[some]))
    if "vector_scales" not in index.arrays:
        return {"vectors": vectors}
    packed = PackedRows.pack(vectors, np.int16, np.asarray(index.arrays["vector_scales"]))
    steps = np.zeros(0, np.float32) if packed.steps is None else packed.steps
    return {"vectors": packed.codes, "vector_steps": steps}

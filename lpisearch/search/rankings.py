"""Rankings by an index, by the full-text table, or by phrases only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.indexes.opening import Keys
from lpisearch.indexes.scoring.scores import Scores

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.compute.packed_rows import PackedRows
    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.search.request import Request
    from lpisearch.storage import Snapshot


@dataclass(frozen=True, eq=False, slots=True)
class Ranking:
    """Documents and what ranks them.

    Attributes
    ----------
    rows
        The key of each document in the library.
    scores
        Of each document.
    among
        The places that may be found; None for all.
    hashes
        Each document's content as it was ranked; None if it was read just now.
    vectors
        Documents as rows at unit length, where there is an index.
    """

    rows: NDArray[np.int64]
    scores: Scores
    among: NDArray[np.int64] | None = None
    hashes: NDArray[np.uint8] | None = None
    vectors: PackedRows | None = None


def ranks_anything(request: Request, by: str) -> bool:
    """Tell whether the words of a query rank anything."""
    return request.question.is_known(by) if request.question else bool(request.tokens)


def by_index(
    engine: Engine, question: Question, request: Request, by: str, weight: float | None
) -> Ranking:
    """Rank all documents of an index."""
    scored = engine.unit_scores(question, by, feedback=request.feedback, weight=weight)
    return by_scores(engine, scored.scores, request, by)


def by_scores(engine: Engine, units: Scores, request: Request, by: str) -> Ranking:
    """Rank all documents of an index by the scores of its units."""
    scores = units.of_documents(engine.units)
    places = among(engine, request, scores, by)
    return Ranking(engine.rows, scores, places, engine.hashes, engine.places)


def by_table(snapshot: Snapshot, request: Request) -> Ranking:
    """Rank by SQLite's own full-text index: it knows only the documents with a word."""
    tokens = request.tokens if request.in_table is None else request.in_table
    found = snapshot.lexical.bm25(tokens, request.allowed) if tokens else []
    kept = [pair for pair in found if pair[0] not in request.left_out]
    bm25 = np.array([score for _, score in kept], np.float32)
    rows = np.array([row for row, _ in kept], np.int64)
    return Ranking(rows, Scores(bm25, bm25, None, found=bool(kept)))


def by_occurrences(request: Request) -> Ranking:
    """Rank by how often phrases without a word that ranks stand in a document."""
    kept = sorted(set(request.allowed or ()) - request.left_out)
    counts = np.array([request.occurrences.get(row, 0) for row in kept], np.float32)
    return Ranking(np.array(kept, np.int64), Scores(counts, counts, None, found=bool(kept)))


def among(engine: Engine, request: Request, scores: Scores, by: str) -> NDArray[np.int64] | None:
    """Return the places of the documents that may be found, or None for all."""
    if not scores.found:
        return np.empty(0, np.int64)
    places = _allowed_places(engine, request)
    shown = scores.by > 0 if by == "lexical" else scores.evidence
    if shown is None:
        return places
    return np.flatnonzero(shown) if places is None else places[shown[places]]


def _allowed_places(engine: Engine, request: Request) -> NDArray[np.int64] | None:
    if request.allowed is None and not request.left_out:
        return None
    out = _places(engine, request.left_out)
    if request.allowed is None:
        return np.asarray(np.delete(np.arange(len(engine.rows)), out))
    return np.setdiff1d(_places(engine, request.allowed), out, assume_unique=True)


def _places(engine: Engine, keys: AbstractSet[int]) -> NDArray[np.int64]:
    """Return the places of documents, in order, leaving out those that are not indexed."""
    rows = keys.ascending if isinstance(keys, Keys) else Keys(keys).ascending
    # Keys ascend in an index, as they do in the library.
    at = np.searchsorted(engine.rows, rows)
    inside = at < len(engine.rows)
    at, rows = at[inside], rows[inside]
    return np.asarray(at[engine.rows[at] == rows])

"""Ranking: the scores of documents for a query, and their order.

Scores are compared to six decimals, so that equal documents tie whatever the processor rounds.
Ties are broken by the document's id, the last in the alphabet first, as TREC does.

A document counts half if few look for its kind (licences, change logs, generated files) and the
query does not name it, or if the query is in one language and the document in another. So it must
be twice as good as the others to come first: a change log that alone has a rare word still does. In
last place it would not, and a fixed number of points means something else in each mode.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import EncoderFailed
from lpisearch.index.encoded_units import CANDIDATES, Leg, unit_text
from lpisearch.index.fusion import SPECIAL, standard_of
from lpisearch.messages import Message
from lpisearch.numeric.rows import positions
from lpisearch.numeric.threads import largest
from lpisearch.options import RELEVANCE, SearchOptions
from lpisearch.search.compounds import add_compounds
from lpisearch.search.engine import Engine, Scores
from lpisearch.search.query import Query, in_other_languages
from lpisearch.search.snapshot import Keys, Snapshot
from lpisearch.text.traits import kinds_named

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from collections.abc import Set as AbstractSet

    from numpy.typing import NDArray

    from lpisearch.search.hybrid import UnitScores
    from lpisearch.text.encoders import CheckedEncoder

    Floats = NDArray[np.float32]
    Numbers = NDArray[np.int64]

_ENCODED_PASSAGES = 2  # of a candidate
_ALL = 1 << 30


def score(query: Query, snapshot: Snapshot, options: SearchOptions) -> Scores:
    """Score documents in the mode of the options, or by words if only these can rank."""
    by = options.by
    if snapshot.engine is not None:
        snapshot.engine = snapshot.engine.of_query(query, snapshot.transaction, options)
    engine = snapshot.engine
    ranks = bool(query.tokens) if engine is None else query.is_known(by)
    if query.occurrences and not ranks:
        return _by_occurrences(query)
    if engine is None:
        return by_words(query, snapshot)
    for needed in (_needed(query, engine, options), None):
        units = engine.unit_scores(query, by, options.semantic_weight, needed)
        scores = finished(by_index(units, query, engine, by), query, snapshot, options)
        if scores.exact_from == -np.inf or _has_page(scores, snapshot, options):
            break
    return scores


_SPARE = 10  # documents that are the best, but count half or have changed


def _needed(query: Query, engine: Engine, options: SearchOptions) -> int | None:
    """Return how many of the best units are needed at most; None if all scores matter."""
    is_page = options.sort == RELEVANCE and options.min_score is None
    is_free = query.allowed is None and not query.excluded and not query.compounds
    if not is_page or not is_free or engine.encoded is not None:
        return None
    return 2 * (options.offset + options.k) + _SPARE


def _has_page(scores: Scores, snapshot: Snapshot, options: SearchOptions) -> bool:
    """Tell whether enough documents have an exact score, of several twins one."""
    numbers = np.arange(len(scores.total)) if scores.candidates is None else scores.candidates
    numbers = numbers[scores.total[numbers] >= max(scores.exact_from, 0.0)]
    groups = snapshot.groups[numbers] if options.collapse else np.full(len(numbers), -1)
    found = np.count_nonzero(groups < 0) + len(np.unique(groups[groups >= 0]))
    return bool(found >= options.offset + options.k)


def finished(
    scores: Scores, query: Query, snapshot: Snapshot, options: SearchOptions | None = None
) -> Scores:
    """Add the bonus of compounds and the encoder, and demote the documents that count half."""
    scores = add_compounds(scores, query, snapshot)
    if options is not None:
        scores = with_encoder(scores, query, snapshot, options)
    return demote(scores, query, snapshot)


HALF = np.float32(0.5)
LANGUAGE = "language"
"""The reason for documents in another language than the query; other reasons are kinds."""


def demote(scores: Scores, query: Query, snapshot: Snapshot) -> Scores:
    """Halve the scores of the documents that count half for a query."""
    demoted = demoted_numbers(scores.rows, query, snapshot)
    if not demoted:
        return scores
    return replace(scores, total=halved(scores.total, demoted.values()), demoted=demoted)


def halved(total: Floats, demoted: Iterable[Numbers]) -> Floats:
    """Return scores, those of some documents halved: that of a bad one is doubled."""
    some = np.unique(np.concatenate([*demoted, np.empty(0, np.int64)]))
    total = total.copy()
    total[some] *= np.where(total[some] > 0, HALF, 1 / HALF)
    return total


def demoted_numbers(rows: Numbers, query: Query, snapshot: Snapshot) -> dict[str, Numbers]:
    """Return the positions in ascending keys of the documents that count half, by the reason."""
    if not query.text or not len(rows):
        return {}
    kinds = snapshot.kinds
    unnamed = kinds.keys() - kinds_named(query.text) if kinds else ()
    demoted = {kind: positions(kinds[kind], rows) for kind in sorted(unnamed)}
    demoted[LANGUAGE] = in_other_languages(rows, query, snapshot)
    return {reason: numbers for reason, numbers in demoted.items() if len(numbers)}


def with_encoder(
    scores: Scores, query: Query, snapshot: Snapshot, options: SearchOptions
) -> Scores:
    """Add the leg of the user's encoder to hybrid scores, if the index has one that helps."""
    engine, wanted = snapshot.engine, scores.by == "hybrid" and not options.no_encoder
    if not wanted or not query.text or engine is None or not scores.is_known:
        return scores
    encoder, note = snapshot.encoder()
    if encoder is None or engine.encoded is None:
        return replace(scores, notes=(note,)) if note else scores
    try:
        leg = _encoder_leg(scores, encoder.query(query.text), snapshot, encoder)
    except EncoderFailed as error:
        return replace(scores, notes=(Message(error.what, " Results are without it."),))
    evidence, passages = scores.evidence, scores.passages
    if evidence is not None:
        evidence = evidence | (leg.points >= SPECIAL)
    if passages is not None and engine.units.passages is not None and leg.units is not None:
        cosines = engine.encoded.of_passages(engine.units.passages, leg.units)
        points = standard_of(leg.cosines).of(cosines)
        passages = passages + np.float32(leg.weight) * points
    return replace(
        scores,
        total=scores.total + leg.shares,
        evidence=evidence,
        candidates=shown_among(evidence, allowed_rows(query, scores.rows)),
        passages=passages,
        encoder=leg,
    )


def _encoder_leg(
    scores: Scores, vector: Floats, snapshot: Snapshot, encoder: CheckedEncoder
) -> Leg:
    """Compare the documents, or only the first of them, with the query by the encoder."""
    engine = snapshot.require_engine()
    encoded = engine.encoded
    assert encoded is not None  # noqa: S101
    if not encoded.is_sample:
        return encoded.leg(vector)
    pool = np.arange(len(scores.rows)) if scores.candidates is None else scores.candidates
    first = pool[largest(scores.total[pool], min(CANDIDATES, len(pool)))]
    keys = scores.rows[first].tolist()
    read = {key: (title, text) for key, title, text in snapshot.transaction.documents.texts(keys)}
    owners: list[int] = []
    texts: list[str] = []
    for at, key in enumerate(keys):
        for start, end in _spans(scores, int(first[at]), engine):
            owners.append(at)
            texts.append(unit_text(*read.get(key, ("", "")), start, end))
    cosines: Floats = np.full(len(first), -1, np.float32)
    if texts:
        own = np.concatenate(list(snapshot.encoded(texts, encoder))) @ vector
        np.maximum.at(cosines, owners, own)
        firsts = own[np.unique(owners, return_index=True)[1]]
        cosines = (cosines + firsts).astype(np.float32) / np.float32(2)
    return encoded.leg_of(vector, first, cosines)


def _spans(scores: Scores, number: int, engine: Engine) -> list[tuple[int, int]]:
    """Return what is encoded of a candidate: its first passage and the best ones, or all of it."""
    best, passages = engine.best_passages(scores, number, _ENCODED_PASSAGES), engine.units.passages
    if not best or passages is None:
        return [(0, _ALL)]
    start, end = passages.spans[passages.of_document(number)][0].tolist()
    return [(start, end), *(span for span in best if span != (start, end))]


def by_index(units: UnitScores, query: Query, engine: Engine, by: str) -> Scores:
    """Score the documents of an index by the scores of its units."""
    scores = engine.of_documents(units, query, by)
    if not scores.is_known:
        return replace(scores, candidates=np.empty(0, np.int64))
    return replace(
        scores, candidates=shown_among(scores.evidence, allowed_rows(query, scores.rows))
    )


def by_words(query: Query, snapshot: Snapshot) -> Scores:
    """Score documents by the library's own full-text table, which needs no index."""
    tokens, lexical = query.fts_tokens, snapshot.transaction.lexical
    pairs = lexical.bm25(tokens, query.allowed) if tokens else []
    pairs = [pair for pair in pairs if pair[0] not in query.excluded]
    bm25 = np.array([value for _, value in pairs], np.float32)
    rows = np.array([key for key, _ in pairs], np.int64)
    return finished(Scores("lexical", rows, bm25, bm25, is_known=bool(pairs)), query, snapshot)


def _by_occurrences(query: Query) -> Scores:
    """Score documents by how often phrases without a word that ranks occur in them."""
    keys = sorted(set(query.allowed or ()) - query.excluded)
    counts = np.array([query.occurrences.get(key, 0) for key in keys], np.float32)
    return Scores("lexical", np.array(keys, np.int64), counts, counts, is_known=bool(keys))


def shown_among(evidence: NDArray[np.bool_] | None, allowed: Numbers | None) -> Numbers | None:
    """Return which of the allowed documents (None for all) have evidence, if it matters."""
    if evidence is None:
        return allowed
    return np.flatnonzero(evidence) if allowed is None else allowed[evidence[allowed]]


def allowed_rows(query: Query, rows: Numbers) -> Numbers | None:
    """Return the positions of the documents that may be found in ascending keys; None for all."""
    if query.allowed is None and not query.excluded:
        return None
    excluded = _positions(query.excluded, rows)
    if query.allowed is None:
        return np.asarray(np.delete(np.arange(len(rows)), excluded))
    return np.setdiff1d(_positions(query.allowed, rows), excluded, assume_unique=True)


def _positions(keys: AbstractSet[int], rows: Numbers) -> Numbers:
    """Return the positions of keys, without those that are not indexed."""
    return positions(keys.ascending if isinstance(keys, Keys) else Keys(keys).ascending, rows)


DECIMALS = 6
_STEP = 10.0**-DECIMALS


def best(
    scores: Floats,
    count: int,
    ranks_of_ids: Callable[[Numbers], Numbers],
    candidates: Numbers | None = None,
) -> Numbers:
    """Return the positions of the best scores in order, among candidates if there are any.

    `ranks_of_ids` gives the alphabetical ranks of ids; it is called for ties alone.
    """
    pool = scores if candidates is None else scores[candidates]
    count = min(count, len(pool))
    if count <= 0:
        return np.empty(0, np.int64)
    chosen = np.arange(len(pool))
    if count < len(pool):
        border = pool[largest(pool, count)].min()
        chosen = np.flatnonzero(pool >= border - _STEP)  # with all that tie with the last
    positions = chosen if candidates is None else candidates[chosen]
    values = rounded(scores[positions])
    order = np.lexsort((_later_first(positions, values, ranks_of_ids), -values))
    return positions[order[:count]]


def rounded(scores: Floats) -> NDArray[np.float64]:
    """Return scores as they are compared and shown."""
    return np.asarray(scores.astype(np.float64).round(DECIMALS) + 0.0)  # + 0: no -0


def _later_first(
    positions: Numbers, values: NDArray[np.float64], ranks_of_ids: Callable[[Numbers], Numbers]
) -> Numbers:
    """Return a sort key that puts the later id first; zeros where nothing ties."""
    key = np.zeros(len(positions), np.int64)
    _, group, sizes = np.unique(values, return_inverse=True, return_counts=True)
    tied = sizes[group] > 1
    if tied.any():
        key[tied] = -ranks_of_ids(positions[tied])
    return key


def alphabet_ranks(ids: list[str]) -> Numbers:
    """Return the rank of each id in the order of its characters' code points."""
    ranks = np.empty(len(ids), np.int64)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids))
    return ranks

"""Similarity: average precision over pairs of documents and average accuracy.

As in sections 5.2.2 and 5.3 of olpi-2005, over the whole collection or over subsets of documents
that contain a word. Documents are rows here (columns in the paper), normalised in double precision;
a row of zeros has cosine 0 with every document. Cosines are rounded to steps of 2^-22, far above
the rounding errors of double precision: equal documents tie, and neither the order of documents nor
the blocks in which they are multiplied changes a figure.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from threading import Lock
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse, stats

from lpisearch.errors import NothingToEvaluate
from lpisearch.evaluation.cells import (
    BASELINES,
    TERMS,
    TermWeights,
    as_report,
    check_options,
    chosen_methods,
    compared,
    is_nested,
    represent,
)
from lpisearch.evaluation.collection import labelled, single_labelled
from lpisearch.evaluation.measures import Labelling, Measured, as_matrix, with_differences
from lpisearch.evaluation.splits import has_pairs, word_subsets
from lpisearch.graphs.neighbours import map_cosines
from lpisearch.messages import Message, call, counted, some
from lpisearch.methods.base import check_count, generator
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.model.reports import Cell, Report, Table
from lpisearch.numeric.rows import row_lengths

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.cells import Cells
    from lpisearch.evaluation.collection import Collection, EvaluationInput, StoredVectors
    from lpisearch.evaluation.measures import Labels
    from lpisearch.graphs.affinity import Floats, Matrix
    from lpisearch.options import EvaluateOptions, SimilarityOptions

    Whole = NDArray[np.integer[Any]]


_TITLE = "Similarity: document pairs ranked by cosine; pairs on the same topic are relevant"
_SAMPLED = "Pairs were sampled; AP_low and AP_high bound a 95% confidence interval."
_EACH = "each"
"""The key of the accuracy of every document, in rows that are not shown yet."""
_DECIMALS = 6


@dataclass(frozen=True, eq=False, slots=True)
class Similarity:
    """The comparison of representations over labelled documents."""

    options: EvaluateOptions
    stored: StoredVectors | None  # of the library's index, if it is compared
    cells: Cells
    dims: Sequence[int | None]

    def rows(self, collection: Collection) -> list[dict[str, Any]]:
        """Compare all representations over the whole collection, for each number of dimensions."""
        names = self._names()
        self.cells.total += len(names)
        return [row for name in names for row in self._cell(name, collection, "")]

    def rows_by_subset(self, subsets: Sequence[tuple[str, Collection]]) -> list[dict[str, Any]]:
        """Compare all representations over each subset."""
        names = self._names()
        self.cells.total += len(names) * len(subsets)
        return [
            {"subset": word, **row}
            for word, subset in subsets
            for name in names
            for row in self._cell(name, subset, word)
        ]

    def _names(self) -> tuple[str, ...]:
        names = chosen_methods(self.options, BASELINES)
        if self.stored is None:
            return names
        return (*(name for name in names if name != self.stored.method), self.stored.method)

    def _cell(self, name: str, collection: Collection, word: str) -> list[dict[str, Any]]:
        stored = self.stored if self.stored and name == self.stored.method else None

        def measure() -> list[dict[str, Any]]:
            if stored is not None:
                vectors = stored.of(collection.keys)
                measured = pair_measures(vectors, collection, self.options.seed)
                return [{"dims": stored.dims} | measured]
            return _of_method(name, collection, self.options, self.dims)

        part = f"similarity, {name}{f', “{word}”' if word else ''}"
        rows = self.cells.value(part, measure, *self.options.of_methods, self.dims)
        return [{"representation": name, **row} for row in rows]


def evaluate_similarity(
    source: EvaluationInput,
    options: EvaluateOptions,
    wanted: SimilarityOptions,
    cells: Cells,
    dims: Sequence[int | None] = (None,),
) -> Report:
    """Measure how well cosine separates pairs on the same topic from others."""
    check_options(options, options.methods or tuple(CATALOGUE))
    collection = source.collection
    collection = (
        single_labelled(collection, options.largest) if options.largest else labelled(collection)
    )
    if not has_pairs(collection):
        raise NothingToEvaluate(
            "No two documents share a label.",
            Message("add more documents: ", call("ingest", "PATH")),
        )
    stored = None if options.methods else source.stored_vectors(options.index)
    if stored is not None:
        collection = stored.known(collection)
    result = _compare(Similarity(options, stored, cells, dims), collection, wanted)
    notes = [*collection.notes, *(stored.notes if stored is not None else ()), *result.notes]
    table, *pairs = with_differences(
        Table("similarity", _TITLE, tuple(map(_shown, result.rows)), (*notes, *cells.notes)),
        result.measured,
        lambda row: str(row["representation"]),
        options.seed,
        (lambda row: row["dims"]) if len(dims) > 1 else (lambda _row: None),
    )
    figures = [compared(table, ("AP", "accuracy"))] if result.rows else []
    tables = [table, *result.subsets, *pairs]
    return as_report("Similarity", collection, (options, wanted), tables, figures)


class _Comparison(NamedTuple):
    """Rows with the values to test, a table by subset, and notes."""

    rows: list[dict[str, Any]]
    measured: Measured
    subsets: list[Table]
    notes: list[str]


def _compare(
    similarity: Similarity, collection: Collection, wanted: SimilarityOptions
) -> _Comparison:
    """Compare over the whole collection, or over subsets and their means."""
    if not (wanted.words or wanted.most_frequent):
        rows = similarity.rows(collection)
        values = [dict(enumerate(row[_EACH])) for row in rows]
        notes = [_SAMPLED] if any(row.get("sampled") for row in rows) else []
        return _Comparison(rows, Measured("accuracy", "document", values), [], notes)
    subsets, alike = word_subsets(collection, wanted)
    detail = similarity.rows_by_subset(subsets)
    groups = _grouped(detail)
    by_word = [{row["subset"]: row["AP"] for row in own} for own in groups.values()]
    notes = [
        (
            f"Averages over {counted(len(subsets), 'subset')}, each made of the documents "
            "that contain one word."
        )
    ]
    if alike:
        notes.append(f"Skipped, as the subset lacks related or unrelated pairs: {some(alike)}.")
    table = Table("subsets", "By subset", tuple(map(_shown, detail)))
    rows = [_mean(key, own) for key, own in groups.items()]
    return _Comparison(rows, Measured("AP", "subset", by_word), [table] if detail else [], notes)


def _shown(row: dict[str, Any]) -> dict[str, Cell]:
    return {name: cell for name, cell in row.items() if name != _EACH}


def _of_method(
    name: str, collection: Collection, options: EvaluateOptions, dims: Sequence[int | None]
) -> list[dict[str, Any]]:
    """Measure a representation for several numbers of dimensions; fit a nested method only once."""
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    numbers = [number for number in dims if number is not None]
    if name == TERMS or not numbers:
        learned = represent(name, X, options)
        rows = learned.directions(X)
        return [{"dims": learned.dims} | pair_measures(rows, collection, options.seed)]
    measures = []
    largest = represent(name, X, replace(options, dims=max(numbers))) if is_nested(name) else None
    for number in numbers:
        learned = largest or represent(name, X, replace(options, dims=number))
        rows = learned.directions(X, number)
        measured = pair_measures(rows, collection, options.seed)
        fewer: dict[str, Any] = {"found_dims": rows.shape[1]} if rows.shape[1] < number else {}
        measures.append({"dims": number} | fewer | measured)
    return measures


def pair_measures(rows: Any, collection: Collection, seed: int) -> dict[str, Any]:
    """Return average precision over pairs and average accuracy, and that of each document."""
    labels = [list(own) for own in collection.labels]
    pairs = pair_precision(rows, labels, random_state=seed)
    accuracies = document_accuracies(rows, labels)
    measures: dict[str, Any] = {
        _EACH: accuracies.round(_DECIMALS).tolist(),
        "AP": pairs.precision,
        "accuracy": float(np.mean(accuracies)),
        "documents": len(labels),
        "pairs": pairs.pairs,
    }
    if pairs.sampled:
        measures |= {"sampled": True, "AP_low": pairs.low, "AP_high": pairs.high}
    return measures


def _grouped(
    detail: Sequence[Mapping[str, Any]],
) -> dict[tuple[Cell, Cell], list[Mapping[str, Any]]]:
    """Group rows by representation and, if it was varied, the number of dimensions."""
    fixed = len({(row["representation"], row["subset"]) for row in detail}) < len(detail)
    groups: dict[tuple[Cell, Cell], list[Mapping[str, Any]]] = {}
    for row in detail:
        dims = row["dims"] if fixed and row["representation"] != TERMS else None
        groups.setdefault((row["representation"], dims), []).append(row)
    return groups


def _mean(key: tuple[Cell, Cell], own: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    return {
        "representation": key[0],
        "dims": key[1],
        "AP": fmean(row["AP"] for row in own),
        "accuracy": fmean(row["accuracy"] for row in own),
        "subsets": len(own),
    }


@dataclass(frozen=True, slots=True)
class PairPrecision:
    """Average precision over pairs of documents."""

    precision: float
    pairs: int  # of labelled documents that were ranked
    intra_pairs: int  # of those, pairs that share a label
    documents: int  # with a label
    unlabelled: int
    sampled: bool  # whether only a sample of all pairs was ranked
    low: float  # 95% interval of the precision; both equal it if all pairs were ranked
    high: float


def pair_precision(
    Y: Any,
    labels: Labels,
    *,
    most_documents: int = 20_000,
    sample: int = 20_000_000,
    random_state: Any = 0,
) -> PairPrecision:
    """Rank all pairs of documents by cosine and return the average precision.

    A pair is relevant if the two share a label. The precision at a pair counts all pairs with a
    cosine at least as high, so ties do not depend on the order of the documents. With up to
    `most_documents` labelled documents every pair counts: two histograms over the grid of
    cosines, of all pairs and of the relevant ones, are sufficient.

    With more documents, about `sample` pairs are sampled: documents are placed on a circle in
    random order, and the pairs at one distance are one draw, in which each document occurs twice.
    Distances are drawn without replacement. Every pair is equally likely, so both histograms are
    unbiased, and the precision is that of the pooled histograms. The interval is Student's t over
    the precisions of 20 parts of the draws.

    Examples
    --------
    >>> from lpisearch.evaluation.similarity import pair_precision
    >>> pairs = pair_precision([[1, 0], [2, 0], [1, 1], [0, 1]], ["a", "a", "b", "b"])
    >>> pairs.precision, pairs.pairs, pairs.intra_pairs
    (0.75, 6, 2)
    """
    check_count("most_documents", most_documents)
    check_count("sample", sample)
    unit, known = _labelled(Y, labels)
    n = len(known.rows)
    if known.flags.sum(axis=0).max() == 1:
        raise ValueError("No two documents share a label, so no pair is relevant.")
    sampled = n > max(most_documents, 2)  # two documents are one pair
    counted = sample_pairs(unit, known, sample, generator(random_state)) if sampled else None
    pooled, low, high = counted or (count_pairs(unit, known), None, None)
    precision = pooled.precision()
    return PairPrecision(
        precision=precision,
        pairs=int(pooled.every.sum()),
        intra_pairs=int(pooled.intra.sum()),
        documents=n,
        unlabelled=len(labels) - n,
        sampled=sampled,
        low=precision if low is None else low,
        high=precision if high is None else high,
    )


def average_accuracy(Y: Any, labels: Labels) -> float:
    """Return the share of nearest neighbours of the same class, averaged over documents.

    Section 5.3 of olpi-2005: the accuracy of a document of a class of p documents is the number of
    its p nearest neighbours by cosine that have its label, divided by p. A document is not its own
    neighbour, so at most p - 1 neighbours share the label: a perfect representation reaches
    1 - classes / documents, and a document alone in its class counts 0. If there are fewer than p
    other documents, all of them are neighbours.

    Documents tied at the p-th cosine count in part: as much as on average over all orders. If
    documents have several labels, p is the number of documents that share one with the document,
    itself included.

    Examples
    --------
    >>> from lpisearch.evaluation.similarity import average_accuracy
    >>> average_accuracy([[1, 0], [2, 0], [1, 1], [0, 1]], ["a", "a", "b", "b"])
    0.4583333333333333
    """
    return float(np.mean(document_accuracies(Y, labels)))


def document_accuracies(Y: Any, labels: Labels) -> Floats:
    """Return the accuracy of each labelled document; see `average_accuracy`."""
    unit, known = _labelled(Y, labels)
    sizes = known.companions()

    def relevant(cosines: Floats, start: int) -> Floats:
        stop = start + len(cosines)
        steps = grid_steps(cosines)
        steps[np.arange(len(steps)), np.arange(start, stop)] = -2 * STEPS  # below all others
        return _relevant_nearest(steps, known.shared(slice(start, stop), slice(None)),
                                 sizes[start:stop])  # fmt: skip

    accuracies: Floats = np.concatenate(map_cosines(unit, relevant)) / sizes
    return accuracies


def _labelled(Y: Any, labels: Labels) -> tuple[Matrix, Labelling]:
    """Return the labelled rows, normalised in double precision."""
    documents: Any = as_matrix(Y)
    is_sparse: bool = sparse.issparse(documents)
    if documents.ndim != 2 or documents.shape[0] != len(labels):  # noqa: PLR2004 -- a matrix
        raise ValueError(f"Y has the shape {documents.shape}, but there are {len(labels)} labels.")
    known = Labelling.of(labels)
    documents = documents[known.rows].astype(np.float64)
    if not np.isfinite(documents.data if is_sparse else documents).all():
        raise ValueError("Y has values that are not finite.")
    lengths = row_lengths(documents)
    scale = np.divide(1, lengths, out=np.zeros_like(lengths), where=lengths > 0)
    if is_sparse:
        return sparse.csr_array(sparse.diags_array(scale) @ documents), known
    return documents * scale[:, np.newaxis], known


def _relevant_nearest(steps: Whole, relevant: NDArray[np.bool_], sizes: Whole) -> Floats:
    """Count, for each row, the relevant documents among its `size` nearest."""
    others = steps.shape[1] - 1
    last = np.empty(len(steps), dtype=steps.dtype)
    for size in np.unique(sizes):
        rows = np.flatnonzero(sizes == size)
        position = steps.shape[1] - min(int(size), max(others, 1))
        last[rows] = np.partition(steps[rows], position, axis=1)[:, position]
    nearer, level = steps > last[:, np.newaxis], steps == last[:, np.newaxis]
    missing = np.minimum(sizes, others) - nearer.sum(axis=1)
    share = missing / level.sum(axis=1)
    return np.asarray((nearer & relevant).sum(axis=1) + share * (level & relevant).sum(axis=1))


STEPS = 2**22
"""The cosine 1 in grid steps."""
PARTS = 20
"""The number of independent parts of a sample; their differences give the interval."""
CONFIDENCE = 0.95


class Histograms:
    """Counts of all pairs and of relevant pairs at each step of the grid."""

    def __init__(self) -> None:
        self.every = np.zeros(2 * STEPS + 1, dtype=np.int64)
        self.intra = np.zeros(2 * STEPS + 1, dtype=np.int64)

    def add(self, steps: Whole, relevant: NDArray[np.bool_]) -> None:
        """Count pairs at these steps."""
        np.add.at(self.every, steps + STEPS, 1)
        np.add.at(self.intra, steps[relevant] + STEPS, 1)

    def precision(self) -> float:
        """Average the precision at each relevant pair."""
        steps = np.flatnonzero(self.every)
        return _average_precision(self.every[steps], self.intra[steps])


def count_pairs(unit: Matrix, known: Labelling) -> Histograms:
    """Count every pair once: of each block of rows, the columns above the diagonal."""
    counts, lock = Histograms(), Lock()

    def count(cosines: Floats, start: int) -> None:
        stop = start + len(cosines)
        above = np.arange(start, unit.shape[0]) > np.arange(start, stop)[:, np.newaxis]
        steps = grid_steps(cosines[:, start:])[above]
        relevant = known.shared(slice(start, stop), slice(start, None))[above]
        with lock:
            counts.add(steps, relevant)

    map_cosines(unit, count)
    return counts


def sample_pairs(
    unit: Matrix, known: Labelling, size: int, chance: np.random.Generator
) -> tuple[Histograms, float, float]:
    """Count pairs at sampled distances on a circle of documents; return the interval too."""
    n = unit.shape[0]
    order = chance.permutation(n)
    unit = unit[order]
    most = (n - 1) // 2  # at n / 2 each pair would occur twice
    draws = 1 + chance.permutation(most)[: max(min(PARTS, most), round(size / n))]
    pooled, precisions = Histograms(), []
    for part in np.array_split(draws, min(PARTS, len(draws))):
        cosines, relevant_rows = [], []
        for distance in part:
            other = np.roll(np.arange(n), -distance)
            cosines.append(grid_steps(_row_products(unit, unit[other])))
            relevant_rows.append(_shared_rows(known, order, order[other]))
        steps, relevant = np.concatenate(cosines), np.concatenate(relevant_rows)
        pooled.add(steps, relevant)
        values, bins = np.unique(steps, return_inverse=True)
        counts = (np.bincount(own, minlength=len(values)) for own in (bins, bins[relevant]))
        precisions.append(_average_precision(*counts))
    if not pooled.intra.any():
        raise ValueError(f"None of {pooled.every.sum():,} sampled pairs shares a label.")
    return pooled, *_interval(pooled.precision(), np.array(precisions))


def grid_steps(cosines: Floats) -> Whole:
    """Round cosines to the grid."""
    return np.asarray(np.rint(np.clip(cosines, -1, 1) * STEPS).astype(np.int32))


def _average_precision(every: Whole, intra: Whole) -> float:
    """Average the precision at each relevant pair, from counts at ascending cosines."""
    every, intra = every[::-1], intra[::-1]
    total = intra.sum()
    return float(intra @ (intra.cumsum() / every.cumsum()) / total) if total else float("nan")


def _row_products(first: Any, second: Any) -> Floats:
    """Return the inner product of each pair of rows."""
    is_sparse: bool = sparse.issparse(first)
    if is_sparse:
        return np.asarray(first.multiply(second).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", first, second))


def _shared_rows(known: Labelling, first: Whole, second: Whole) -> NDArray[np.bool_]:
    """Return whether the documents of two lists share a label, pair by pair."""
    if known.numbers is not None:
        return np.asarray(known.numbers[first] == known.numbers[second])
    common = known.flags[first].multiply(known.flags[second])
    return np.asarray(common.sum(axis=1)).ravel() > 0


def _interval(precision: float, parts: Floats) -> tuple[float, float]:
    """Return Student's t interval over the parts; (0, 1) if a part has no relevant pair."""
    if len(parts) == 1 or np.isnan(parts).any():
        return 0.0, 1.0
    factor = stats.t.ppf((1 + CONFIDENCE) / 2, len(parts) - 1)
    reach = float(factor * parts.std(ddof=1) / np.sqrt(len(parts)))
    return max(precision - reach, 0.0), min(precision + reach, 1.0)

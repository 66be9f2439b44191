"""`lpisearch evaluate similarity`: check that documents on one topic are similar.

Average precision over pairs of documents and average accuracy, as olpi-2005 has them in sections
5.2.2 and 5.3, over the whole collection or over subsets of documents that contain a word.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import NothingToEvaluate
from lpisearch.evaluation.experiments.collection import labelled, single_labelled
from lpisearch.evaluation.experiments.differences import Measured, with_differences
from lpisearch.evaluation.experiments.figures import compared
from lpisearch.evaluation.experiments.reporting import as_report
from lpisearch.evaluation.experiments.representations import (
    BASELINES,
    TERMS,
    TermWeights,
    check_options,
    chosen_methods,
    is_nested,
    represent,
)
from lpisearch.evaluation.experiments.subsets import has_pairs, word_subsets
from lpisearch.messages import Message, call
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.records import Table
from lpisearch.wording import counted, some

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.evaluation.experiments.sources import EvaluationInput, StoredVectors
    from lpisearch.records import Cell, Report
    from lpisearch.settings import EvaluateOptions, SimilarityOptions


_TITLE = "Similarity: document pairs ranked by cosine; pairs on the same topic are relevant"
_SAMPLED = "Pairs were sampled; AP_low and AP_high bound a 95% confidence interval."
_EACH = "each"
"""Where a row has the accuracy of every document, until it is shown."""
_DECIMALS = 6


@dataclass(frozen=True, eq=False, slots=True)
class Similarity:
    """One evaluation of similarity over one collection.

    Attributes
    ----------
    collection
        Labelled documents.
    options, wanted
        What was asked for.
    stored
        The vectors of the library's index, if it is compared.
    cells
        Where finished parts are kept.
    """

    collection: Collection
    options: EvaluateOptions
    wanted: SimilarityOptions
    stored: StoredVectors | None
    cells: Cells

    def rows(self, dims: Sequence[int | None]) -> list[dict[str, Any]]:
        """Compare all representations over the whole collection, in each number of dimensions."""
        names = self._names()
        self.cells.total += len(names)
        return [row for name in names for row in self._cell(name, self.collection, "", dims)]

    def rows_by_subset(
        self, subsets: Sequence[tuple[str, Collection]], dims: Sequence[int | None]
    ) -> list[dict[str, Any]]:
        """Compare all representations over each subset."""
        names = self._names()
        self.cells.total += len(names) * len(subsets)
        return [
            {"subset": word, **row}
            for word, subset in subsets
            for name in names
            for row in self._cell(name, subset, word, dims)
        ]

    def _names(self) -> tuple[str, ...]:
        names = chosen_methods(self.options, BASELINES)
        if self.stored is None:
            return names
        return (*(name for name in names if name != self.stored.method), self.stored.method)

    def _cell(
        self, name: str, collection: Collection, word: str, dims: Sequence[int | None]
    ) -> list[dict[str, Any]]:
        stored = self.stored if self.stored and name == self.stored.method else None

        def measure() -> list[dict[str, Any]]:
            if stored is not None:
                return [_of_stored(stored, collection, self.options)]
            return _of_method(name, collection, self.options, dims)

        said = f"similarity, {name}{f', “{word}”' if word else ''}"
        varied = (*self.options.of_methods, dims)
        found: list[dict[str, Any]] = self.cells.value(said, measure, *varied)
        return [{"representation": name, **row} for row in found]


def evaluate_similarity(
    source: EvaluationInput,
    options: EvaluateOptions,
    wanted: SimilarityOptions,
    cells: Cells,
    dims: Sequence[int | None] = (None,),
) -> Report:
    """Measure how well the cosine tells pairs of one topic from others.

    Parameters
    ----------
    dims
        Numbers of dimensions to try; None is that of the options.

    Raises
    ------
    BadOption, NothingToEvaluate, LibraryError
    """
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
    similarity = Similarity(collection, options, wanted, stored, cells)
    found = _found(similarity, wanted, dims)
    notes = [*collection.notes, *(stored.notes if stored is not None else ()), *found.notes]
    table, *pairs = with_differences(
        Table("similarity", _TITLE, tuple(map(_shown, found.rows)), (*notes, *cells.notes)),
        found.measured,
        lambda row: str(row["representation"]),
        options.seed,
        (lambda row: row["dims"]) if len(dims) > 1 else (lambda _row: None),
    )
    figures = [compared(table, ("AP", "accuracy"))] if found.rows else []
    tables = [table, *found.subsets, *pairs]
    return as_report("Similarity", collection, (options, wanted), tables, figures)


class _Found(NamedTuple):
    """Rows with the values that are tested, a table of subsets, and what is to be said."""

    rows: list[dict[str, Any]]
    measured: Measured
    subsets: list[Table]
    notes: list[str]


def _found(similarity: Similarity, wanted: SimilarityOptions, dims: Sequence[int | None]) -> _Found:
    """Compare over the whole collection, or over subsets and their means."""
    if not (wanted.words or wanted.most_frequent):
        rows = similarity.rows(dims)
        values = [dict(enumerate(row[_EACH])) for row in rows]
        notes = [_SAMPLED] if any(row.get("sampled") for row in rows) else []
        return _Found(rows, Measured("accuracy", "document", values), [], notes)
    subsets, alike = word_subsets(similarity.collection, wanted)
    detail = similarity.rows_by_subset(subsets, dims)
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
    return _Found(rows, Measured("AP", "subset", by_word), [table] if detail else [], notes)


def _shown(row: dict[str, Any]) -> dict[str, Cell]:
    return {name: cell for name, cell in row.items() if name != _EACH}


def _of_stored(
    stored: StoredVectors, collection: Collection, options: EvaluateOptions
) -> dict[str, Any]:
    rows = stored.of(collection.keys)
    return {"dims": stored.dims} | pair_measures(rows, collection, options.seed)


def _of_method(
    name: str, collection: Collection, options: EvaluateOptions, dims: Sequence[int | None]
) -> list[dict[str, Any]]:
    """Measure a representation in several numbers of dimensions, learned once where that does."""
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    asked = [number for number in dims if number is not None]
    if name == TERMS or not asked:
        learned = represent(name, X, options)
        rows = learned.directions(X)
        return [{"dims": learned.dims} | pair_measures(rows, collection, options.seed)]
    found = []
    largest = represent(name, X, replace(options, dims=max(asked))) if is_nested(name) else None
    for number in asked:
        learned = largest or represent(name, X, replace(options, dims=number))
        rows = learned.directions(X, number)
        measured = pair_measures(rows, collection, options.seed)
        fewer: dict[str, Any] = {"found_dims": rows.shape[1]} if rows.shape[1] < number else {}
        found.append({"dims": number} | fewer | measured)
    return found


def pair_measures(rows: Any, collection: Collection, seed: int) -> dict[str, Any]:
    """Return average precision over pairs, and average accuracy, of documents in their places.

    Under `_EACH` is the accuracy of every document.
    """
    from lpisearch.evaluation import document_accuracies, pair_precision

    labels = [list(own) for own in collection.labels]
    pairs = pair_precision(rows, labels, random_state=seed)
    each = document_accuracies(rows, labels)
    found: dict[str, Any] = {
        _EACH: each.round(_DECIMALS).tolist(),
        "AP": pairs.precision,
        "accuracy": float(np.mean(each)),
        "documents": len(labels),
        "pairs": pairs.pairs,
    }
    if pairs.sampled:
        found |= {"sampled": True, "AP_low": pairs.low, "AP_high": pairs.high}
    return found


def _grouped(
    detail: Sequence[Mapping[str, Any]],
) -> dict[tuple[Cell, Cell], list[Mapping[str, Any]]]:
    """Group rows of subsets; without a fixed number of dimensions they may differ in it."""
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

"""`lpisearch evaluate classify`: measure label prediction.

The shape of tables 4 and 5 of rlpi-2007. For each split, everything (which terms are kept, their
idf, the map, the classifier) is learned from the training documents alone; the others are only
placed and judged.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.classifiers import CLASSIFIERS, Judged, judge
from lpisearch.evaluation.experiments.collection import has_several, labelled, single_labelled
from lpisearch.evaluation.experiments.differences import Measured, with_differences
from lpisearch.evaluation.experiments.figures import compared_by, curves
from lpisearch.evaluation.experiments.reporting import as_report, mean_and_spread
from lpisearch.evaluation.experiments.representations import (
    PAPERS,
    TermWeights,
    check_options,
    chosen_methods,
    class_dimensions,
    represent,
    takes_labels,
)
from lpisearch.evaluation.experiments.several import decide
from lpisearch.evaluation.experiments.splits import (
    AUTO,
    FIELD,
    described,
    make_splits,
    percent,
    split_notes,
)
from lpisearch.messages import Message, Option
from lpisearch.records import Table
from lpisearch.terms.vocabulary import VocabularyLimits
from lpisearch.wording import have, quoted

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.evaluation import Confused
    from lpisearch.evaluation.experiments.cells import Cells
    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.evaluation.experiments.several import Decided
    from lpisearch.evaluation.experiments.sources import EvaluationInput
    from lpisearch.evaluation.experiments.splits import Split
    from lpisearch.records import Cell, Report
    from lpisearch.settings import CategoriesOptions, EvaluateOptions

# Labels are learned from every word. Among documents that were all for training (five draws of
# 80 %, 20 Newsgroups and Reuters), leaving out rare words only cost accuracy.
EVERY_WORD = VocabularyLimits(min_df=1)
_PAIRS = 10
MEASURES = ("accuracy", "P@1", "micro_f1", "macro_f1")
"""Accuracy where each document has one label, precision at 1 and micro F1 where some have more."""
SHARE = "share of documents used for training"


def evaluate_classify(
    source: EvaluationInput, options: EvaluateOptions, wanted: CategoriesOptions, cells: Cells
) -> Report:
    """Measure classifiers on representations.

    Raises
    ------
    BadOption, LibraryError
    """
    names = chosen_methods(options, PAPERS)
    check_options(options, names, has_labels=True)
    _check(wanted)
    collection = replace(_wanted_documents(source.collection, options, wanted), limits=EVERY_WORD)
    splits = list(make_splits(collection, wanted, options.seed))
    cells.total += len(splits) * len(names)
    experiment = _Experiment(collection, options, wanted)
    found = [
        row for split in splits for name in names for row in experiment.rows(split, name, cells)
    ]
    rows = _summarised(found)
    title = f"Classification: {described(splits)}"
    notes = (*collection.notes, *split_notes(collection, splits), *cells.notes)
    measures = _measures(rows)
    measured = Measured(measures[0], "document", _right_by_document(found, splits))
    table, *pairs = with_differences(
        Table("classify", title, tuple(rows), notes),
        measured,
        lambda row: f"{row['representation']} {row['classifier']}",
        options.seed,
        lambda row: row.get("train"),
    )
    tables = [table, _pairs_table(found, rows), *pairs]
    if len(wanted.train) > 1:
        figures = [curves(table, "train", each, SHARE) for each in measures]
    else:
        figures = [compared_by(table, "classifier", each) for each in measures]
    return as_report("Classification", collection, (options, wanted), tables, figures)


def _wanted_documents(
    collection: Collection, options: EvaluateOptions, wanted: CategoriesOptions
) -> Collection:
    """Return the documents with labels; those with just one, as the papers do, where asked."""
    if wanted.single or options.largest is not None:
        return single_labelled(collection, options.largest)
    known = labelled(collection)
    if not has_several(known):
        return single_labelled(collection)
    several = sum(len(own) > 1 for own in known.labels)
    said = f"{have(several, 'document')} more than one label. P@1 is the share whose top label is "
    notes = (*known.notes, f"{said}correct; F1 counts all labels of all documents.")
    return replace(known, notes=notes)


def _measures(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [name for name in MEASURES if name in rows[0]]


class _Row(NamedTuple):
    """One classifier on one representation of one draw; `right` has a 1 or a 0 for each judged."""

    split: str | float
    draw: int
    right: str
    representation: str
    classifier: str
    cells: dict[str, Any]
    pairs: list[Any]


@dataclass(frozen=True, eq=False, slots=True)
class _Experiment:
    """Classifiers on representations of one collection."""

    collection: Collection
    options: EvaluateOptions
    wanted: CategoriesOptions

    def rows(self, split: Split, name: str, cells: Cells) -> list[_Row]:
        """Judge the unseen documents of a split by all classifiers on one representation."""
        drawn = f", draw {split.draw + 1}" if split.train != FIELD else ""
        named = percent(split.train) + drawn
        varied = (split.train, *self.options.of_methods)
        said = f"classes, {name}, {named}"
        values = cells.value(said, partial(self._measure, split, name), *varied)
        return [
            _Row(split.train, split.draw, own["right"], name, by, own["cells"], own["pairs"])
            for by, own in values.items()
        ]

    def _measure(self, split: Split, name: str) -> dict[str, Any]:
        seen, unseen = self.collection.of(split.seen), self.collection.of(split.unseen)
        if has_several(self.collection):
            decided = decide(name, seen, unseen, self.options, self.wanted.classifiers)
            return {by: _scored_sets(each, unseen) for by, each in decided.items()}
        weights = TermWeights.learn(seen, self.options.weighting)
        X, labels = weights.apply(seen.counts), seen.single_labels
        classes = len(set(labels))
        dims = class_dimensions(name, classes) if takes_labels(name) else None
        learned = represent(name, X, self.options, dims=dims, labels=labels)
        points = learned.directions(X)
        others = learned.directions(weights.apply(unseen.counts))
        return {
            by: _scored(judge(by, points, labels, others, self.options.seed), unseen, learned)
            for by in self.wanted.classifiers
        }


def _scored(judged: Judged, unseen: Collection, learned: Any) -> dict[str, Any]:
    from lpisearch.evaluation import accuracy, macro_f1, worst_pairs

    truth, said = unseen.single_labels, judged.labels.tolist()
    cells = {
        "accuracy": accuracy(truth, said),
        "macro_f1": macro_f1(truth, said),
        "fit_s": judged.fit_seconds + learned.seconds,
        "predict_s": judged.predict_seconds,
        "dims": learned.dims,
        "alpha": learned.alpha,
    }
    right = "".join(str(int(one == own)) for one, own in zip(said, truth, strict=True))
    pairs = worst_pairs(truth, said, _PAIRS)
    return {"cells": cells, "right": right, "pairs": [[*_confused(one)] for one in pairs]}


def _scored_sets(decided: Decided, unseen: Collection) -> dict[str, Any]:
    from lpisearch.evaluation import accuracy, set_f1, worst_pairs

    truth = [list(own) for own in unseen.labels]
    best = [labels[0] for labels in decided.labels]
    f1 = set_f1(truth, decided.labels)
    cells = {
        "P@1": accuracy(truth, best),
        "micro_f1": f1.micro,
        "macro_f1": f1.macro,
        "fit_s": decided.fit_seconds + decided.learned.seconds,
        "predict_s": decided.predict_seconds,
        "dims": decided.learned.dims,
        "alpha": decided.learned.alpha,
    }
    right = "".join(str(int(one in own)) for one, own in zip(best, truth, strict=True))
    pairs = worst_pairs(truth, best, _PAIRS)
    return {"cells": cells, "right": right, "pairs": [[*_confused(one)] for one in pairs]}


def _confused(one: Confused) -> tuple[str, str, int]:
    return one.label, one.predicted, one.count


def _right_by_document(found: Sequence[_Row], splits: Sequence[Split]) -> list[dict[int, float]]:
    """Return, for each row of the table, in which share of its draws each document is right."""
    unseen = {(split.train, split.draw): split.unseen.tolist() for split in splits}
    draws: dict[tuple[str | float, str, str], dict[int, list[bool]]] = {}
    for row in found:
        own = draws.setdefault((row.split, row.representation, row.classifier), {})
        for document, right in zip(unseen[row.split, row.draw], row.right, strict=True):
            own.setdefault(document, []).append(right == "1")
    return [{document: fmean(right) for document, right in own.items()} for own in draws.values()]


def _summarised(found: Sequence[_Row]) -> list[dict[str, Cell]]:
    rows = []
    for key in dict.fromkeys((row.split, row.representation, row.classifier) for row in found):
        own = [row.cells for row in found if (row.split, row.representation, row.classifier) == key]
        row: dict[str, Cell] = {} if key[0] == FIELD else {"train": key[0]}
        row |= {"representation": key[1], "classifier": key[2]}
        for what in (name for name in MEASURES if name in own[0]):
            row[what], spread = mean_and_spread([each[what] for each in own])
            if spread is not None:
                row[f"{what}_sd"] = spread
        row |= {what: fmean(each[what] for each in own) for what in ("fit_s", "predict_s")}
        row["dims"] = own[0]["dims"]
        alphas = [each["alpha"] for each in own if each["alpha"] is not None]
        row["alpha"] = fmean(alphas) if alphas else None
        if len(own) > 1:
            row["repeats"] = len(own)
        rows.append(row)
    return rows


def _pairs_table(found: Sequence[_Row], rows: Sequence[dict[str, Cell]]) -> Table:
    """Show what the best row confuses, over all its draws."""
    first = _measures(rows)[0]
    best = max(rows, key=lambda row: float(row[first] or 0))
    split = best.get("train", FIELD)
    own = [
        row
        for row in found
        if (row.split, row.representation, row.classifier)
        == (split, best["representation"], best["classifier"])
    ]
    counts: Counter[tuple[str, str]] = Counter()
    for row in own:
        for label, taken, count in row.pairs:
            counts[label, taken] += count
    title = f"Most frequent confusions of {best['representation']} with {best['classifier']}"
    pairs: list[dict[str, Cell]] = [
        {"label": label, "taken_for": taken, "documents": count}
        for (label, taken), count in counts.most_common(_PAIRS)
    ]
    return Table("worst_pairs", title, tuple(pairs))


def _check(wanted: CategoriesOptions) -> None:
    unknown = [name for name in wanted.classifiers if name not in CLASSIFIERS]
    if unknown:
        raise BadOption("classifiers", f"unknown classifier {quoted(unknown)}", CLASSIFIERS)
    if not wanted.classifiers:
        raise BadOption("classifiers", "give at least one", CLASSIFIERS)
    if wanted.split not in {FIELD, AUTO}:
        raise BadOption("split", f"unknown value “{wanted.split}”", [FIELD, AUTO])
    if wanted.split == FIELD and wanted.train:
        raise BadOption(
            "train",
            Message(
                "cannot be combined with ",
                Option("split", FIELD),
                ", which fixes the training documents",
            ),
        )
    if wanted.repeats < 1:
        raise BadOption("repeats", f"must be at least 1, not {wanted.repeats}")
    for share in wanted.train:
        if not 0 < share < 1:
            raise BadOption("train", f"{share:g} is not between 0 and 1 (write 5% or .05)")

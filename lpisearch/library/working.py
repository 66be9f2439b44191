"""Long operations of a local library: ingest, index, predict, evaluate."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Unpack

from lpisearch.calls.given import index_options, ingest_options
from lpisearch.library.opened import Opened
from lpisearch.records import Filter
from lpisearch.settings import ClassifyOptions, EvaluateOptions, IndexOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager

    from lpisearch.records import (
        DimensionReport,
        IndexPlan,
        IndexReport,
        IngestReport,
        PredictionReport,
        Progress,
        Report,
    )
    from lpisearch.settings import DimensionOptions, IndexFields, IngestOptions
    from lpisearch.settings.evaluation import Wanted
    from lpisearch.settings.indexes import Setting


class Working(Opened):
    """What takes longer."""

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        labels: str | None = None,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Bring in the documents of files, folders and globs; unchanged files cost nothing.

        Parameters
        ----------
        *paths
            Files, folders, globs; "-" is standard input.
        labels
            Where labels come from: "folder", "none", a field, a file; that of the options if not
            given.
        options
            All the rest.
        on_progress
            Called as files are read.

        Examples
        --------
        >>> library = lpisearch.open("notes.db")
        >>> report = library.ingest("letters")
        >>> report.added, report.failed
        (2, 0)
        """
        from lpisearch.ingest.ingesting import run_ingest

        names = [os.fspath(path) for path in paths]
        return run_ingest(self.path, names, ingest_options(options, labels), on_progress)

    def plan(self, options: IndexOptions | None = None) -> IndexPlan:
        """Say what building an index will take."""
        from lpisearch.indexes.planning import plan_index

        return plan_index(self.path, options or IndexOptions())

    def index(
        self,
        method: str | None = None,
        *,
        options: IndexOptions | None = None,
        on_stage: Callable[[str], None] = lambda _stage: None,
        on_step: Callable[[int, int], None] = lambda _done, _total: None,
        **given: Unpack[IndexFields],
    ) -> IndexReport:
        """Build a subspace index and put it in use; the one before stays in use until then.

        Parameters
        ----------
        method
            Such as "rlpi", "olpi", "lpi" or "lsi"; that of the options if not given.
        options
            All the rest.
        on_stage
            Called with the name of each stage as it begins.
        on_step
            Called with how many documents a stage has done, and of how many, where it knows.
        **given
            Fields of `IndexOptions` by name, such as `dims=100`; they go before the options.

        Examples
        --------
        >>> library.index(method="lsi", dims=1).documents
        2
        """
        from lpisearch.indexes.build import build_index

        wanted = index_options(options, method, given)
        return build_index(self.path, wanted, on_stage, on_step)

    def predict_labels(
        self,
        *documents: str,
        where: Filter | None = None,
        labelled: bool = False,
        options: ClassifyOptions | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> PredictionReport:
        """Judge documents of the library, and keep what is said of them as predicted labels.

        They are kept apart from labels that people gave: shown and filtered as predicted, never
        learned from unless an index is asked to.

        Parameters
        ----------
        *documents
            Ids or paths; all, if none are named.
        where
            In place of names: those that pass it.
        labelled
            Judge documents that have labels too.
        options
            By which classifier of which index, and how sure it must be.
        on_progress
            Called with how many were judged, and of how many.

        Examples
        --------
        >>> report = library.predict_labels(labelled=True)
        >>> report.documents == len(library)
        True
        >>> library.forget_predicted() == report.predicted
        True
        """
        from lpisearch.maintenance.predicting import predict_labels

        chosen = options or ClassifyOptions()
        return predict_labels(
            self._session,
            documents,
            where or Filter(),
            chosen,
            labelled=labelled,
            on_progress=on_progress,
        )

    def dimensions(
        self,
        options: DimensionOptions,
        *,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> DimensionReport:
        """Give the dimensions of a sparse map by their words and typical documents."""
        from lpisearch.search.dimensions import show_dimensions

        return show_dimensions(self._session, options, on_stage)

    def evaluate(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[Setting]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
    ) -> Report:
        """Measure the index, and others beside it, on labelled documents and judged queries.

        Parameters
        ----------
        what
            "similarity", "classify", "cluster" or "retrieval"; "all" is what the labels allow.
            "spectrum" gives eigenvalues and bounds, and needs no labels.
        options
            What is compared: methods, dimensions, ….
        wanted
            What is measured, such as `CategoriesOptions` for "classify". Retrieval needs it, for
            the names of its files.
        over
            A parameter and the values that it takes in turn, such as ("dims", [10, 20, 50]).
        on_cell
            Called as each part begins, with its name, how many are done, and how many there are.

        Examples
        --------
        >>> report = library.evaluate(
        ...     "classify",
        ...     options=lpisearch.EvaluateOptions(methods=("terms", "rlpi")),
        ...     wanted=lpisearch.CategoriesOptions(train=(0.5,), classifiers=("centroid",)),
        ... )
        >>> rows = report.tables[0].rows
        >>> [(row["representation"], row["repeats"], row["accuracy"] > 0.9) for row in rows]
        [('terms', 10, True), ('rlpi', 10, True)]
        """
        with self.evaluating(
            what, options=options, wanted=wanted, over=over, on_cell=on_cell, keep=False
        ) as report:
            return report

    def evaluating(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[Setting]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
        keep: bool = True,
    ) -> AbstractContextManager[Report]:
        """Do the same for a `with` block, and keep finished parts on disk until it ends.

        The same evaluation, stopped or killed, goes on where it was.
        """
        from lpisearch.evaluation.experiments.evaluate import evaluating

        return evaluating(
            self._session,
            what,
            options=options or EvaluateOptions(),
            wanted=wanted,
            over=over,
            on_cell=on_cell,
            keep=keep,
        )

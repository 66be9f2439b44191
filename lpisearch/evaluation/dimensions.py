"""Dimensions of a sparse projection, and the spectra of methods.

As in figure 1 of olpi-2005, f(a) = 1 - λ is the locality preserving function: 0 if neighbours
have the same location. Theorem 3 of lpfl-2012 bounds what the best m terms can reach.
"""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.cells import (
    TERMS,
    TermWeights,
    as_report,
    check_options,
    chosen_methods,
    represent,
)
from lpisearch.graphs.base import GRAPHS, RADIUS, GraphOptions
from lpisearch.index.build import fit_index
from lpisearch.index.checkpoint import Stages
from lpisearch.index.directory import entry_named
from lpisearch.messages import Message, call
from lpisearch.methods.catalogue import CATALOGUE, DIMENSIONS
from lpisearch.model.answers import Dimension, DimensionDocument, DimensionReport, DimensionWord
from lpisearch.model.reports import Cell, Figure, Report, Series, Table
from lpisearch.options import DimensionOptions, EvaluateOptions, IndexOptions
from lpisearch.search.passages import written_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.cells import Cells
    from lpisearch.evaluation.collection import Collection, EvaluationInput
    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.search.session import Session
    from lpisearch.storage.store import ReadTransaction


# For each document shown, this many are looked up, since some may have been deleted.
_SPARE = 10


def show_dimensions(
    session: Session,
    options: DimensionOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> DimensionReport:
    """Describe the dimensions of a sparse projection by words and typical documents.

    An index of that name and method is used if there is one. Otherwise the projection is learned
    with the defaults of `lpisearch index --method` and not stored.
    """
    _check(options)
    index, is_stored = _index(session, options, on_stage)
    count = min(options.dims, len(index.scales))
    with session.store.reading() as snapshot:
        dimensions = [_dimension(index, at, snapshot, options) for at in range(count)]
    return DimensionReport(
        method=options.method,
        index=options.index if is_stored else "",
        documents=index.n_documents,
        terms=len(index.vocabulary),
        dimensions=tuple(dimensions),
    )


def _check(options: DimensionOptions) -> None:
    readable = [name for name, method in CATALOGUE.items() if method.has_few_words]
    if options.method not in CATALOGUE:
        raise BadOption("method", f"unknown method “{options.method}”", readable)
    if options.method not in readable:
        raise BadOption(
            "method", f"{options.method} is not a sparse method (few words per dimension)", readable
        )
    if options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.terms < 0 or options.documents < 0:
        raise BadOption(("terms", "documents"), "must be 0 or more")


def _index(
    session: Session, options: DimensionOptions, on_stage: Callable[[str], None]
) -> tuple[SubspaceIndex, bool]:
    """Return the stored index of this method and True, or a new index and False."""
    with session.store.reading() as snapshot:
        entry = entry_named(snapshot, options.index)
    if entry is not None and entry.method == options.method:
        return session.index(options.index), True
    wanted = IndexOptions(method=options.method, seed=options.seed, train="none")
    return fit_index(session.path, wanted, Stages(on_stage)), False


def _dimension(
    index: SubspaceIndex, at: int, snapshot: ReadTransaction, options: DimensionOptions
) -> Dimension:
    ends = [_End(index, at, sign, snapshot) for sign in (1, -1)]
    above, below = (end.words(options.terms) for end in ends)
    spectrum = index.eigenvalues
    documents_above, documents_below = (end.documents(options.documents) for end in ends)
    return Dimension(
        number=at + 1,
        eigenvalue=0.0 if spectrum is None else float(spectrum[at]),
        words=int(np.count_nonzero(index.packed_loadings.column(at))),
        above=above,
        below=below,
        documents_above=documents_above,
        documents_below=documents_below,
    )


class _End:
    """One end of a dimension: the loadings and cosines of one sign."""

    def __init__(self, index: SubspaceIndex, at: int, sign: int, snapshot: ReadTransaction) -> None:
        self.index, self.sign, self.snapshot = index, sign, snapshot
        self.loadings = sign * np.asarray(index.packed_loadings.column(at), dtype=np.float64)
        self.cosines = sign * np.asarray(index.packed_vectors.column(at), dtype=np.float64)

    def words(self, count: int) -> tuple[DimensionWord, ...]:
        """Return the strongest words, as written in the documents."""
        stems = self.index.vocabulary.terms
        strongest = _top_positive(self.loadings, count)
        forms = written_forms(
            self.index, self.snapshot, [stems[term] for term in strongest], self.cosines
        )
        return tuple(
            DimensionWord(
                forms.get(stems[term], stems[term]), self.sign * float(self.loadings[term])
            )
            for term in strongest
        )

    def documents(self, count: int) -> tuple[DimensionDocument, ...]:
        """Return the documents nearest to the end, without deleted ones."""
        rows = _top_positive(self.cosines, _SPARE * count)
        keys = self.index.document_rows[rows].tolist()
        details = self.snapshot.documents.details(keys, 0)
        present = (
            (row, details[key]) for row, key in zip(rows, keys, strict=True) if key in details
        )
        return tuple(
            DimensionDocument(document.id, document.title, self.sign * float(self.cosines[row]))
            for row, document in islice(present, count)
        )


def _top_positive(values: NDArray[np.float64], count: int) -> list[int]:
    """Return the indices of the largest positive values."""
    order = np.argsort(-values, kind="stable")[:count]
    return [int(index) for index in order if values[index] > 0]


METHODS = ("lpi", "olpi")
# Computing the bounds takes time cubic in the number of documents.
MOST_DOCUMENTS = 3000
_STEPS = 12


def evaluate_spectrum(source: EvaluationInput, options: EvaluateOptions, cells: Cells) -> Report:
    """Compare the eigenvalues of methods, and bound what m terms can reach."""
    names = _methods(options)
    check_options(options, names)
    collection = _with_words(source.collection)
    cells.total += len(names) + 1
    X = TermWeights.learn(collection, options.weighting).apply(collection.counts)
    spectra = {
        name: cells.value(f"spectrum, {name}", partial(_values, name, X, options)) for name in names
    }
    title = "Eigenvalues: f = 1 - λ of each dimension (0: neighbours stay together)"
    table = Table(
        "spectrum", title, tuple(_side_by_side(spectra)), (*collection.notes, *cells.notes)
    )
    lines = tuple(_line(name, values) for name, values in spectra.items())
    figure = Figure("spectrum", "The eigenvalues of the methods", "dimension", "f", lines)
    bounds = cells.value("spectrum, bounds", partial(_bounds, X, options))
    return as_report("Spectrum", collection, (options,), [table, _as_table(bounds)], [figure])


def _methods(options: EvaluateOptions) -> tuple[str, ...]:
    names = chosen_methods(options, METHODS)
    without = [name for name in names if name == TERMS or not CATALOGUE[name].has_graph]
    if without and options.methods != ("all",):
        graphs = [name for name in CATALOGUE if CATALOGUE[name].has_graph]
        raise BadOption("methods", f"{without[0]} has no graph, so it has no eigenvalues", graphs)
    return tuple(name for name in names if name not in without)


def _with_words(collection: Collection) -> Collection:
    rows = np.flatnonzero(np.diff(collection.counts.indptr))
    if len(rows) < 2:  # noqa: PLR2004 (the least to compare)
        raise NothingToEvaluate(
            "Fewer than two documents have words.", Message(call("ingest", "PATH"))
        )
    return collection.of(rows)


def _values(name: str, X: Any, options: EvaluateOptions) -> list[float]:
    dims = min(DIMENSIONS, X.shape[0] - 1)
    learned = represent(name, X, options, dims=dims)
    values = None if learned.estimator is None else learned.estimator.eigenvalues_
    return [] if values is None else np.round(1 - np.asarray(values, float), 6).tolist()


def _side_by_side(spectra: dict[str, list[float]]) -> list[dict[str, Cell]]:
    longest = max(map(len, spectra.values()), default=0)
    return [
        {"dimension": at + 1}
        | {name: values[at] if at < len(values) else None for name, values in spectra.items()}
        for at in range(longest)
    ]


def _line(name: str, values: Sequence[float]) -> Series:
    return Series(name, tuple(map(float, range(1, len(values) + 1))), tuple(values))


def _bounds(X: Any, options: EvaluateOptions) -> dict[str, Any]:
    """Bound J, the least sum of f over the dimensions, for m terms."""
    from lpisearch.methods.locality import sufficient_count, term_bounds

    n_documents = X.shape[0]
    if n_documents > MOST_DOCUMENTS:
        rng = np.random.default_rng(options.seed)
        X = X[np.sort(rng.permutation(n_documents)[:MOST_DOCUMENTS])]
    graph_options = GraphOptions(options.neighbours, options.radius or RADIUS, options.edge_weights)
    graph = GRAPHS["nearest" if options.graph == "auto" else options.graph]
    W = graph.build(X, None, graph_options)
    enough = sufficient_count(X.shape[0] - W.n_isolated, X.shape[1])
    count = min(options.dims or DIMENSIONS, enough - 1)
    if count < 1:
        return {"rows": [], "count": 0, "sampled": None}
    terms = np.unique(np.geomspace(count, enough, _STEPS).round().astype(int)).tolist()
    try:
        sums = term_bounds(X, W, count, terms)
    except ValueError:  # too few linearly independent documents for the number of dimensions
        return {"rows": [], "count": 0, "sampled": None}
    rows = [[m, *bounds] for m, bounds in zip(terms, np.round(sums, 4).tolist(), strict=True)]
    return {
        "rows": rows,
        "count": count,
        "sampled": n_documents if n_documents > MOST_DOCUMENTS else None,
    }


def _as_table(bounds: dict[str, Any]) -> Table:
    rows = tuple(
        {
            "terms": m,
            "lower": lower,
            "upper": upper,
            "mean_f_at_most": round(upper / bounds["count"], 6),
        }
        for m, lower, upper in bounds["rows"]
    )
    title = f"Bounds on the sum of f over {bounds['count']} dimensions, with the best m terms"
    notes = []
    if not bounds["count"]:
        notes.append("No bounds: too few linearly independent documents.")
    if bounds["sampled"]:
        notes.append(f"Bounds computed on {MOST_DOCUMENTS:,} of {bounds['sampled']:,} documents.")
    return Table("term_bounds", title, rows, tuple(notes))

"""Weighted documents to a fitted method: the graph, what is known of pairs, and the fit."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.compute.threads import one_thread_if_small
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.indexes.checking import AUTO
from lpisearch.messages import Message, call
from lpisearch.projections.methods import MethodOptions, make_method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.graphs import Affinity
    from lpisearch.graphs.pairs import Pairs
    from lpisearch.indexes.stages import Stages
    from lpisearch.projections.base import DocumentTransformer
    from lpisearch.settings import IndexSpec

# Between a whole library's documents and short queries, a little less than the estimators' 2 was
# measured to be better everywhere: docs/ranking.md.
_EIGENVALUE_POWER = 1.5


class Projected(NamedTuple):
    """A fitted method, from how many documents it learned, and what is to be known of it."""

    projection: DocumentTransformer
    learned_from: int
    notes: tuple[str, ...]


class Known(NamedTuple):
    """What is known of the documents beside their terms.

    Attributes
    ----------
    labels
        Of each document; None leaves them out.
    pairs
        Rows that belong together, and rows that do not; None, if nothing is known.
    """

    labels: list[list[str]] | None = None
    pairs: Pairs | None = None


def fit_projection(X: Any, known: Known, options: IndexSpec, stages: Stages) -> Projected:
    """Learn a map from weighted documents (rows at unit length).

    Raises
    ------
    NothingToIndex
    """
    from lpisearch.projections.base import NotConverged

    wanted = MethodOptions.of(options, _EIGENVALUE_POWER)
    projection = make_method(options.method, wanted, X.shape[0])
    try:
        X, affinity = _graph(X, known, options, stages, projection)
        with (
            stages.stage("projecting"),
            one_thread_if_small(X.shape[0]),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("ignore")  # what came out is in the report
            warnings.simplefilter("always", NotConverged)
            projection.fit(X, known.labels, affinity=affinity)
    except ValueError as error:
        raise NothingToIndex(
            f"No subspace can be learned from these documents: {error}",
            Message("add documents that differ, or ask for other options: ", call("help", "index")),
        ) from error
    notes = tuple(str(each.message) for each in said)
    return Projected(projection, X.shape[0], (*notes, *_of_labels(projection)))


def _of_labels(projection: DocumentTransformer) -> list[str]:
    """Say how much the labels of some documents count, where the method found that out."""
    strength = getattr(projection, "label_strength_", None)
    if strength is None:
        return []
    if strength == 0:
        return ["The labels are left out of the map: documents held out were placed better so."]
    if strength == float("inf"):
        return ["The map is of the labels alone: documents held out were placed better so."]
    times = "once" if strength == 1 else f"{strength:g} times"
    return [f"Dimensions from labels count {times} beside those from neighbours."]


def rows_of_pairs(
    pairs: Sequence[tuple[str, int, int]], rows: Sequence[int], ids: Mapping[int, str]
) -> Pairs | None:
    """Find the rows of pairs of documents that are given by their keys; None if there are none.

    Raises
    ------
    BadOption
        A document is not indexed, or two of them must and cannot be together.
    """
    from lpisearch.graphs.pairs import Pairs, first_contradiction

    if not pairs:
        return None
    places = {key: row for row, key in enumerate(rows)}
    missing = next((key for pair in pairs for key in pair[1:] if key not in places), None)
    if missing is not None:
        raise BadOption("pairs", f"“{ids[missing]}” is not among the documents to index")
    known = [(kind, (places[first], places[second])) for kind, first, second in pairs]
    must, cannot = ([pair for own, pair in known if own == kind] for kind in ("must", "cannot"))
    found = Pairs.of(must, cannot)
    clash = first_contradiction(found, len(rows))
    if clash is not None:
        first, second = (ids[rows[row]] for row in clash)
        raise BadOption("pairs", f"“{first}” and “{second}” must be together and cannot be")
    return found


def _graph(
    X: Any, known: Known, options: IndexSpec, stages: Stages, projection: Any
) -> tuple[Any, Affinity | None]:
    """Choose the documents to learn from, and link them; None leaves the graph to the method."""
    import numpy as np

    from lpisearch.graphs import GRAPHS
    from lpisearch.graphs.pairs import with_pairs
    from lpisearch.indexes.leaders import documents_to_learn_from
    from lpisearch.projections.base import Projection

    labels, pairs = known
    by_itself = labels is not None and options.graph == AUTO and pairs is None
    if not projection.about.has_graph or by_itself:
        return X, None
    usual = "nearest" if labels is None else "blend"
    graph = GRAPHS[usual if options.graph == AUTO else options.graph]
    with stages.stage("linking neighbours"):
        if labels is None and isinstance(projection, Projection):  # it places the others
            rows = documents_to_learn_from(X, options.seed)
            if pairs is not None:
                rows = np.union1d(rows, pairs.rows)
                pairs = pairs.among(rows)
            X = X[rows]
        affinity = graph.build(X, labels, projection.graph_options)
        return X, affinity if pairs is None else with_pairs(affinity, pairs)

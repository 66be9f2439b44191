"""Fit a method to weighted documents: graph, known pairs and fit."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.classifiers.limits import LIMITS
from lpisearch.compute.gathering import gather, whole
from lpisearch.compute.threads import one_thread_if_small
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.graphs.options import GraphOptions
from lpisearch.indexes.checking import AUTO
from lpisearch.messages import Message, call
from lpisearch.projections.methods import MethodOptions, make_method

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.compute.row_blocks import RowBlocks
    from lpisearch.graphs import Affinity
    from lpisearch.graphs.pairs import Pairs
    from lpisearch.indexes.stages import Stages
    from lpisearch.projections.base import DocumentTransformer
    from lpisearch.records import IndexPlan
    from lpisearch.settings import IndexSpec

# Between a whole library's documents and short queries, a little less than the estimators' 2 was
# measured to be better everywhere: docs/ranking.md.
_EIGENVALUE_POWER = 1.5
# Documents that a map is learned from: docs/ranking.md.
MOST_LEADERS = 20_000
# So many are drawn for each leader that is to be learned from.
DRAWN_A_LEADER = 3


class Samples(NamedTuple):
    """From how many documents a map is learned at most, and the labels."""

    map: int = MOST_LEADERS
    labels: int = LIMITS.cells  # what time allows for is less

    @classmethod
    def of(cls, plan: IndexPlan) -> Samples:
        """Return those of a plan; one without labels sets no bound for them."""
        return cls(plan.learned_from, plan.labels_learned_from or LIMITS.cells)

    def halved(self, *, of_labels: bool) -> Samples:
        """Learn one of them from fewer."""
        if of_labels:
            return self._replace(labels=self.labels // 2)
        return self._replace(map=self.map // 2)


class Projected(NamedTuple):
    """A fitted method, and what is to be known of it.

    Attributes
    ----------
    projection
        The method.
    learned_from
        From how many documents.
    notes
        What is to be known of it.
    recall
        How much of the exact neighbours its graph has: see `graph_recall`.
    """

    projection: DocumentTransformer
    learned_from: int
    notes: tuple[str, ...]
    recall: dict[str, float] | None = None


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


def fit_projection(
    rows: RowBlocks, known: Known, options: IndexSpec, stages: Stages, most: int = MOST_LEADERS
) -> Projected:
    """Learn a map from weighted documents (rows at unit length), or from at most so many of them.

    Raises
    ------
    NothingToIndex
    """
    from lpisearch.projections.base import NotConverged

    wanted = MethodOptions.of(options, _EIGENVALUE_POWER)
    projection = make_method(options.method, wanted, rows.shape[0])
    try:
        X, labels, affinity = _Learning(rows, known, options, stages, most).linked(projection)
        with (
            stages.stage("projecting"),
            one_thread_if_small(X.shape[0]),
            warnings.catch_warnings(record=True) as said,
        ):
            warnings.simplefilter("ignore")  # what came out is in the report
            warnings.simplefilter("always", NotConverged)
            projection.fit(X, labels, affinity=affinity)
        found = graph_recall(X, affinity, projection, options)
    except ValueError as error:
        raise NothingToIndex(
            f"Cannot learn a model from these documents: {error}",
            Message("add more varied documents, or change the options: ", call("help", "index")),
        ) from error
    notes = tuple(str(each.message) for each in said)
    return Projected(projection, X.shape[0], (*notes, *_of_labels(projection)), found)


def graph_recall(
    X: Any, affinity: Affinity | None, projection: Any, options: IndexSpec
) -> dict[str, float] | None:
    """Compare the neighbours of some documents with their exact ones; None for another graph.

    "edges" is the share of the exact neighbours that are joined, "weight" that of their cosines,
    "sample" how many documents were looked at: none where the graph is exact by its making.
    """
    from lpisearch.graphs import recall
    from lpisearch.graphs.exactness import SAMPLE

    exact_documents = getattr(projection, "graph_options", GraphOptions()).exact_documents
    nearest = options.graph in {AUTO, "nearest", "pruned"} and options.edge_weights == "cosine"
    if affinity is None or not nearest or options.labels == "use" or options.pairs:
        return None
    if options.graph != "pruned" and X.shape[0] <= exact_documents:
        return {"edges": 1.0, "weight": 1.0, "sample": 0}
    kept = recall(X, affinity, options.neighbours, options.seed)
    sample = min(SAMPLE, X.shape[0])
    return {"edges": round(kept.edges, 4), "weight": round(kept.weight, 4), "sample": sample}


def _of_labels(projection: DocumentTransformer) -> list[str]:
    """Say how much the labels of some documents count, where the method found that out."""
    strength = getattr(projection, "label_strength_", None)
    if strength is None:
        return []
    if strength == 0:
        return ["The model does not use the labels: held-out accuracy was better without them."]
    if strength == float("inf"):
        return ["The model uses the labels alone: held-out accuracy was better that way."]
    times = "1" if strength == 1 else f"{strength:g}"
    return [f"Weight of label dimensions relative to neighbour dimensions: {times}."]


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
        raise BadOption("pairs", f"“{ids[missing]}” is not one of the documents to index")
    known = [(kind, (places[first], places[second])) for kind, first, second in pairs]
    must, cannot = ([pair for own, pair in known if own == kind] for kind in ("must", "cannot"))
    found = Pairs.of(must, cannot)
    clash = first_contradiction(found, len(rows))
    if clash is not None:
        first, second = (ids[rows[row]] for row in clash)
        raise BadOption("pairs", f"“{first}” and “{second}” are marked both must and cannot")
    return found


@dataclass(frozen=True, slots=True)
class _Learning:
    """What a map is learned from."""

    rows: RowBlocks
    known: Known
    options: IndexSpec
    stages: Stages
    most: int

    def linked(self, projection: Any) -> tuple[Any, list[list[str]] | None, Affinity | None]:
        """Choose documents and labels, and link them; None leaves the graph to the method."""
        from lpisearch.graphs import GRAPHS
        from lpisearch.graphs.pairs import with_pairs
        from lpisearch.projections.base import Projection

        labels, pairs = self.known
        is_linear = isinstance(projection, Projection)  # it places the others
        if not projection.about.has_graph:
            return whole(self.rows), labels, None
        if labels is not None and self.options.graph == AUTO and pairs is None:
            return (*self._labelled(labels, is_linear=is_linear), None)
        usual = "nearest" if labels is None else "blend"
        graph = GRAPHS[usual if self.options.graph == AUTO else self.options.graph]
        with self.stages.stage("finding neighbours"):
            if labels is not None or not is_linear:
                X = whole(self.rows)
            else:
                X, pairs = self._leaders(pairs)
            affinity = graph.build(X, labels, projection.graph_options)
            return X, labels, affinity if pairs is None else with_pairs(affinity, pairs)

    def _labelled(self, labels: list[list[str]], *, is_linear: bool) -> tuple[Any, list[list[str]]]:
        from lpisearch.indexes.leaders import labelled_to_learn_from

        if not is_linear:
            return whole(self.rows), labels
        chosen = labelled_to_learn_from(self.rows, labels, self.options.seed, self.most)
        return chosen.X, [labels[number] for number in chosen.numbers.tolist()]

    def _leaders(self, pairs: Pairs | None) -> tuple[Any, Pairs | None]:
        """Choose leaders, and the documents of pairs too."""
        import numpy as np

        from lpisearch.indexes.leaders import documents_to_learn_from

        chosen = documents_to_learn_from(self.rows, self.options.seed, most=self.most)
        if pairs is None:
            return chosen.X, None
        every = np.union1d(chosen.numbers, pairs.rows)
        return gather(self.rows, every), pairs.among(every)

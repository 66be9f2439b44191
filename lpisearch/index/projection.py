"""Options checked, sample drawn, method fitted.

Near-duplicates make small tight parts in a graph of neighbours, and each such part takes a
dimension for itself. So one of each group, its leader, stands for all; the others are placed by
the linear map that is learned. Of more than 20,000 leaders a sample is taken: dimensions, not
documents, are what a large library lacks (docs/ranking.md).

Of very many documents three times as many as that are drawn first, and grouped: what is learned
from costs what a sample costs, however many documents there are. A large group has some of its
documents among those drawn, and one leader; a small one hardly ever has two.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from lpisearch.classifiers.trainer import LIMITS
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.graphs.base import EDGE_WEIGHTS, GRAPHS, GraphOptions
from lpisearch.graphs.neighbours import near_duplicate_groups
from lpisearch.messages import Message, Option, call, nearest
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.parameters import OPTIONS, MethodOptions, make_method, settable_by_any, typed
from lpisearch.numeric.row_blocks import gather, whole
from lpisearch.numeric.threads import one_thread_if_small

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.graphs.affinity import Affinity
    from lpisearch.graphs.supervision import Pairs
    from lpisearch.index.checkpoint import Stages
    from lpisearch.methods.base import DocumentTransformer
    from lpisearch.model.reports import IndexPlan
    from lpisearch.numeric.row_blocks import RowBlocks
    from lpisearch.options import IndexSpec, Setting

    Spec = TypeVar("Spec", bound=IndexSpec)


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
    """Learn a map from weighted documents (rows at unit length), or from a sample of them."""
    from lpisearch.methods.base import NotConverged

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
    from lpisearch.graphs.neighbours import SAMPLE, recall

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
    """Find the rows of pairs of documents that are given by their keys; None if there are none."""
    from lpisearch.graphs.supervision import Pairs, first_contradiction

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
        from lpisearch.graphs.base import GRAPHS
        from lpisearch.graphs.supervision import with_pairs
        from lpisearch.methods.base import Projection

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

        if not is_linear:
            return whole(self.rows), labels
        chosen = labelled_to_learn_from(self.rows, labels, self.options.seed, self.most)
        return chosen.X, [labels[number] for number in chosen.numbers.tolist()]

    def _leaders(self, pairs: Pairs | None) -> tuple[Any, Pairs | None]:
        """Choose leaders, and the documents of pairs too."""
        import numpy as np

        chosen = documents_to_learn_from(self.rows, self.options.seed, most=self.most)
        if pairs is None:
            return chosen.X, None
        every = np.union1d(chosen.numbers, pairs.rows)
        return gather(self.rows, every), pairs.among(every)


AUTO = "auto"
_LABEL_CHOICES = ("ignore", "use")
_LARGEST_SEED = 2**32 - 1
_LARGEST_ALPHA = 1e30  # beyond it float32 cannot hold what is left of the map


class GraphChoice(Protocol):
    """Options that say who is a neighbour of whom."""

    @property
    def graph(self) -> str: ...  # noqa: D102 (a field)
    @property
    def radius(self) -> float | None: ...  # noqa: D102 (a field)
    @property
    def edge_weights(self) -> str: ...  # noqa: D102 (a field)


def check_options(options: IndexSpec) -> None:
    """Refuse options that cannot work, before anything is read."""
    from lpisearch.text.weighting import weighting_scheme

    if options.method not in CATALOGUE:
        hint = nearest(options.method, CATALOGUE)
        raise BadOption("method", f"unknown method “{options.method}”{hint}", CATALOGUE)
    method = CATALOGUE[options.method]
    if options.labels not in _LABEL_CHOICES:
        raise BadOption("labels", f"unknown value “{options.labels}”", _LABEL_CHOICES)
    if options.dims is not None and options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.neighbours < 1:
        raise BadOption("neighbours", f"must be at least 1, not {options.neighbours}")
    if options.alpha is not None and not 0 <= options.alpha <= _LARGEST_ALPHA:
        raise BadOption("alpha", f"must be between 0 and {_LARGEST_ALPHA:g}, not {options.alpha}")
    if options.alpha is not None and "alpha" not in method.parameters:
        raise BadOption("alpha", f"{options.method} does not use alpha")
    check_graph(options, [options.method])
    _check_what_is_known(options)
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"must be between 0 and {_LARGEST_SEED}, not {options.seed}")
    weighting_scheme(options.weighting)
    check_settings(options.settings, [options.method])


def check_graph(options: GraphChoice, methods: Sequence[str]) -> None:
    """Refuse a graph that there is not, or that none of the methods has."""
    if options.radius is not None and not 0 < options.radius <= sqrt(2):
        raise BadOption("radius", f"must be above 0 and at most √2, not {options.radius}")
    if options.edge_weights not in EDGE_WEIGHTS:
        hint = nearest(options.edge_weights, EDGE_WEIGHTS)
        raise BadOption(
            "edge_weights", f"unknown edge weights “{options.edge_weights}”{hint}", EDGE_WEIGHTS
        )
    if options.graph not in {AUTO, *GRAPHS}:
        hint = nearest(options.graph, GRAPHS)
        raise BadOption("graph", f"unknown graph “{options.graph}”{hint}", [AUTO, *GRAPHS])
    asked = {"graph": options.graph != AUTO, "edge_weights": options.edge_weights != "cosine"}
    for field, is_asked in asked.items():
        if is_asked and not any(name in CATALOGUE and CATALOGUE[name].has_graph
                                for name in methods):  # fmt: skip
            none = f"{methods[0]} does not use" if len(methods) == 1 else "none of the methods uses"
            raise BadOption(field, f"{none} a graph")


def _check_what_is_known(options: IndexSpec) -> None:
    """Refuse labels and pairs that the graph has no use for."""
    has_graph = CATALOGUE[options.method].has_graph
    if options.labels == "use" and not has_graph:
        raise BadOption("labels", f"{options.method} does not use labels")
    if options.pairs and not has_graph:
        raise BadOption("pairs", f"{options.method} does not use a graph")
    unknown = {kind for kind, _, _ in options.pairs} - {"must", "cannot"}
    if unknown:
        raise BadOption("pairs", f"“{min(unknown)}” is not must or cannot")
    if options.graph == AUTO or GRAPHS[options.graph].needs_labels == (options.labels == "use"):
        return
    needs, instead = "does not use labels", "ignore"
    if options.labels == "ignore":
        needs, instead = "needs labels", "use"
    error = BadOption("graph", f"{options.graph} {needs}")
    error.next_step = call("index", graph=options.graph, labels=instead)
    raise error


def check_settings(settings: Mapping[str, Setting], methods: Sequence[str]) -> None:
    """Refuse a setting that no method has, or a value that it does not take."""
    known = settable_by_any(name for name in methods if name in CATALOGUE)
    for name in settings:
        if name in known:
            continue
        if name in OPTIONS:
            said = Message(f"{name} has its own option, ", Option(OPTIONS[name]))
            raise BadOption("settings", said)
        who = methods[0] if len(methods) == 1 else "none of the methods"
        negation = "no" if len(methods) == 1 else "a"
        raise BadOption(
            "settings", f"{who} has {negation} parameter “{name}”{nearest(name, known)}", known
        )
    try:
        for method in methods:
            if method in CATALOGUE:
                typed(method, settings)
    except ValueError as error:
        raise BadOption("settings", str(error)) from None


def with_typed_settings(spec: Spec) -> Spec:
    """Return a specification with each setting of its kind, as it is stored."""
    return replace(spec, settings=typed(spec.method, spec.settings))


# Fewer have more dimensions than they need: then all documents are learned from.
LEAST_LEADERS = 600
# Where labels are learned from, so many documents of each are, however few there are of it.
LEAST_OF_A_LABEL = 20


class Sample(NamedTuple):
    """Some documents: their numbers, ascending, and their rows."""

    numbers: NDArray[np.int64]
    X: csr_array


def documents_to_learn_from(
    rows: RowBlocks, seed: int, least: int = LEAST_LEADERS, most: int = MOST_LEADERS
) -> Sample:
    """Choose documents."""
    drawn = _drawn(rows, seed, most * DRAWN_A_LEADER)
    _, leaders = np.unique(near_duplicate_groups(drawn.X), return_index=True)
    if len(leaders) < least:
        return drawn
    if len(leaders) > most:
        leaders = np.random.default_rng(seed).permutation(leaders)[:most]
    leaders = np.sort(leaders)
    return Sample(drawn.numbers[leaders], drawn.X[leaders])


def labelled_to_learn_from(
    rows: RowBlocks, labels: Sequence[Sequence[str]], seed: int, most: int = MOST_LEADERS
) -> Sample:
    """Choose documents where their labels are learned from too: all, or a stratified sample."""
    n = rows.shape[0]
    if n <= most * DRAWN_A_LEADER:
        return Sample(np.arange(n), whole(rows))
    order = np.random.default_rng(seed).permutation(n)
    chosen = set(order[:most].tolist())
    missing: dict[str, int] = {}
    for number in order.tolist():
        wanted = [one for one in labels[number] if missing.get(one, 0) < LEAST_OF_A_LABEL]
        for one in labels[number]:
            missing[one] = missing.get(one, 0) + 1
        if wanted:
            chosen.add(number)
    numbers = np.array(sorted(chosen), np.int64)
    return Sample(numbers, gather(rows, numbers))


def _drawn(rows: RowBlocks, seed: int, most: int) -> Sample:
    n = rows.shape[0]
    if n <= most:
        return Sample(np.arange(n), whole(rows))
    numbers = np.sort(np.random.default_rng([seed, n]).permutation(n)[:most])
    return Sample(numbers, gather(rows, numbers))

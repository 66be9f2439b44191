"""Check options, sample documents, fit the method.

Near-duplicates form tight clusters in a neighbour graph, and each would take a dimension. So one
document of each group, its leader, stands for all; the linear map then places the others. Of more
than 20,000 leaders a sample is used: more documents hardly improve a map (docs/ranking.md). In very
large libraries the leaders are found among a sample three times as large, so that the cost of
learning is bounded.
"""

from __future__ import annotations

import warnings
from collections import Counter
from dataclasses import replace
from math import sqrt
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

import numpy as np

from lpisearch.classifiers.trainer import LIMITS
from lpisearch.errors import BadOption, NothingToIndex
from lpisearch.graphs.base import EDGE_WEIGHTS, GRAPHS, GraphOptions
from lpisearch.graphs.neighbours import SAMPLE, near_duplicate_groups, recall
from lpisearch.messages import Message, Option, call, nearest
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.parameters import OPTIONS, MethodOptions, make_method, settable_by_any, typed
from lpisearch.numeric.row_blocks import RowBlocks, gather, whole
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
    from lpisearch.options import IndexSpec, Setting

    Spec = TypeVar("Spec", bound=IndexSpec)


# For short queries, a little less than the estimators' 2 was better in all measurements:
# docs/ranking.md.
_EIGENVALUE_POWER = 1.5
MOST_LEADERS = 20_000  # documents that a map is learned from: docs/ranking.md
DRAWN_A_LEADER = 3  # documents sampled for each leader


class Samples(NamedTuple):
    """The most documents that a map, and a classifier, are learned from."""

    map: int = MOST_LEADERS
    labels: int = LIMITS.cells  # `LIMITS` sets a lower bound by time

    @classmethod
    def of(cls, plan: IndexPlan) -> Samples:
        """Return those of a plan; one without labels sets no bound for them."""
        return cls(plan.learned_from, plan.labels_learned_from or LIMITS.cells)

    def halved(self, *, of_labels: bool) -> Samples:
        """Learn one of them from fewer."""
        if of_labels:
            return self._replace(labels=self.labels // 2)
        return self._replace(map=self.map // 2)


class FittedProjection(NamedTuple):
    """A fitted method."""

    projection: DocumentTransformer
    learned_from: int  # number of documents
    notes: tuple[str, ...]
    recall: dict[str, float] | None = None  # see `graph_recall`


class Supervision(NamedTuple):
    """Labels of each document and pairs of rows, where they are used."""

    labels: list[list[str]] | None = None
    pairs: Pairs | None = None


def fit_projection(
    rows: RowBlocks,
    supervision: Supervision,
    options: IndexSpec,
    stages: Stages,
    most: int = MOST_LEADERS,
) -> FittedProjection:
    """Learn a map from weighted documents (rows at unit length), or from a sample of them."""
    from lpisearch.methods.base import NotConverged

    method_options = MethodOptions.of(options, _EIGENVALUE_POWER)
    projection = make_method(options.method, method_options, rows.shape[0])
    try:
        X, labels, affinity = _training_data(
            projection, rows, supervision, options, stages, most=most
        )
        with (
            stages.stage("projecting"),
            one_thread_if_small(X.shape[0]),
            warnings.catch_warnings(record=True) as caught,
        ):
            warnings.simplefilter("ignore")  # the outcome is in the report
            warnings.simplefilter("always", NotConverged)
            projection.fit(X, labels, affinity=affinity)
        recall = graph_recall(X, affinity, projection, options)
    except ValueError as error:
        raise NothingToIndex(
            f"Cannot learn a model from these documents: {error}",
            Message("add more varied documents, or change the options: ", call("help", "index")),
        ) from error
    notes = (
        *(str(warning.message) for warning in caught),
        *_solver_notes(projection),
        *_label_notes(projection),
    )
    return FittedProjection(projection, X.shape[0], notes, recall)


def graph_recall(
    X: Any, affinity: Affinity | None, projection: Any, options: IndexSpec
) -> dict[str, float] | None:
    """Compare the neighbours of sampled documents with the exact ones; None for other graphs.

    "edges" is the share of exact neighbours that are linked, "weight" that of their cosines,
    "sample" the number of documents compared: 0 where the graph is exact by construction.
    """
    exact_documents = getattr(projection, "graph_options", GraphOptions()).exact_documents
    nearest = options.graph in {AUTO, "nearest", "pruned"} and options.edge_weights == "cosine"
    if affinity is None or not nearest or options.labels == "use" or options.pairs:
        return None
    if options.graph != "pruned" and X.shape[0] <= exact_documents:
        return {"edges": 1.0, "weight": 1.0, "sample": 0}
    share = recall(X, affinity, options.neighbours, options.seed)
    sample = min(SAMPLE, X.shape[0])
    return {"edges": round(share.edges, 4), "weight": round(share.weight, 4), "sample": sample}


def _solver_notes(projection: Any) -> list[str]:
    """Return a note about an approximate solution, if the method says that it is one."""
    solver, name = getattr(projection, "solver_", "exact"), type(projection).__name__
    if solver == "leading":
        return [f"{name} works in the leading part of the space of these documents."]
    if solver != "iterative":
        return []
    found, least = 1 - projection.eigenvalues_, 1 - projection.bounds_  # each f has a lower bound
    share = 100 * (float(found.sum()) / max(float(least.sum()), float(np.finfo(float).tiny)) - 1)
    return [f"{name} was found by iteration: its criterion is {share:.1f} % above its lower bound."]


def _label_notes(projection: DocumentTransformer) -> list[str]:
    """Return a note about the weight of the labels, if the method learned it."""
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
    """Return pairs of keys as pairs of rows; None without pairs."""
    from lpisearch.graphs.supervision import Pairs, first_contradiction

    if not pairs:
        return None
    row_of = {key: row for row, key in enumerate(rows)}
    missing = next((key for pair in pairs for key in pair[1:] if key not in row_of), None)
    if missing is not None:
        raise BadOption("pairs", f"“{ids[missing]}” is not one of the documents to index")
    by_kind: dict[str, list[tuple[int, int]]] = {"must": [], "cannot": []}
    for kind, first, second in pairs:
        by_kind[kind].append((row_of[first], row_of[second]))
    row_pairs = Pairs.of(by_kind["must"], by_kind["cannot"])
    clash = first_contradiction(row_pairs, len(rows))
    if clash is not None:
        first_id, second_id = (ids[rows[row]] for row in clash)
        raise BadOption("pairs", f"“{first_id}” and “{second_id}” are marked both must and cannot")
    return row_pairs


def _training_data(
    projection: Any,
    rows: RowBlocks,
    supervision: Supervision,
    options: IndexSpec,
    stages: Stages,
    *,
    most: int,
) -> tuple[Any, list[list[str]] | None, Affinity | None]:
    """Choose documents with their labels and link them; None leaves the graph to the method."""
    from lpisearch.graphs.supervision import with_pairs
    from lpisearch.methods.base import Projection

    labels, pairs = supervision
    is_linear = isinstance(projection, Projection)  # so it can place the others later
    if not projection.about.has_graph:
        return whole(rows), labels, None
    if labels is not None and options.graph == AUTO and pairs is None:
        if not is_linear:
            return whole(rows), labels, None
        sample = labelled_to_learn_from(rows, labels, options.seed, most)
        return sample.X, [labels[number] for number in sample.numbers.tolist()], None
    usual = "nearest" if labels is None else "blend"
    graph = GRAPHS[usual if options.graph == AUTO else options.graph]
    with stages.stage("finding neighbours"):
        if labels is not None or not is_linear:
            X: Any = whole(rows)
        else:
            sample = documents_to_learn_from(rows, options.seed, most=most)
            X = sample.X
            if pairs is not None:  # their documents too
                numbers = np.union1d(sample.numbers, pairs.rows)
                X, pairs = gather(rows, numbers), pairs.among(numbers)
        affinity = graph.build(X, labels, projection.graph_options)
        return X, labels, affinity if pairs is None else with_pairs(affinity, pairs)


AUTO = "auto"
_LABEL_CHOICES = ("ignore", "use")
_LARGEST_SEED = 2**32 - 1
_LARGEST_ALPHA = 1e30  # beyond it the map underflows in float32


class GraphChoice(Protocol):
    """Options of the neighbour graph."""

    @property
    def graph(self) -> str: ...  # noqa: D102 (a field)
    @property
    def radius(self) -> float | None: ...  # noqa: D102 (a field)
    @property
    def edge_weights(self) -> str: ...  # noqa: D102 (a field)


def check_options(options: IndexSpec) -> None:
    """Refuse invalid options before anything is read."""
    from lpisearch.text.vocabulary import weighting_scheme

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
    _check_supervision(options)
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"must be between 0 and {_LARGEST_SEED}, not {options.seed}")
    weighting_scheme(options.weighting)
    check_settings(options.settings, [options.method])


def check_graph(options: GraphChoice, methods: Sequence[str]) -> None:
    """Refuse an unknown graph, or one for methods that use none."""
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
    if any(name in CATALOGUE and CATALOGUE[name].has_graph for name in methods):
        return
    changed = {"graph": options.graph != AUTO, "edge_weights": options.edge_weights != "cosine"}
    for field, is_changed in changed.items():
        if is_changed:
            none = f"{methods[0]} does not use" if len(methods) == 1 else "none of the methods uses"
            raise BadOption(field, f"{none} a graph")


def _check_supervision(options: IndexSpec) -> None:
    """Refuse labels and pairs that the graph cannot use."""
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
    """Refuse a parameter that no method has, or an invalid value."""
    known = settable_by_any(name for name in methods if name in CATALOGUE)
    for name in settings:
        if name in known:
            continue
        if name in OPTIONS:
            reason = Message(f"{name} has its own option, ", Option(OPTIONS[name]))
            raise BadOption("settings", reason)
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
    """Return a specification with typed settings, as it is stored."""
    return replace(spec, settings=typed(spec.method, spec.settings))


# With fewer leaders, all documents are learned from.
LEAST_LEADERS = 600
LEAST_OF_A_LABEL = 20  # documents of each label in a stratified sample, if it has as many


class Sample(NamedTuple):
    """Some documents: their numbers, ascending, and their rows."""

    numbers: NDArray[np.int64]
    X: csr_array


def documents_to_learn_from(
    rows: RowBlocks, seed: int, least: int = LEAST_LEADERS, most: int = MOST_LEADERS
) -> Sample:
    """Choose leaders, at most `most`; all documents if there are fewer leaders than `least`."""
    n, most_drawn = rows.shape[0], most * DRAWN_A_LEADER
    if n <= most_drawn:
        drawn = Sample(np.arange(n), whole(rows))
    else:
        numbers = np.sort(np.random.default_rng([seed, n]).permutation(n)[:most_drawn])
        drawn = Sample(numbers, gather(rows, numbers))
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
    seen: Counter[str] = Counter()
    for number in order.tolist():
        if any(seen[label] < LEAST_OF_A_LABEL for label in labels[number]):
            chosen.add(number)
        seen.update(labels[number])
    numbers = np.array(sorted(chosen), np.int64)
    return Sample(numbers, gather(rows, numbers))

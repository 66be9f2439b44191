"""Index options."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 (type hints are read when the program runs)
from dataclasses import dataclass, field, fields
from typing import Any, Self, TypeAlias, TypedDict

from lpisearch.records import Filter

# A value that one parameter of a method takes, or its text.
Setting: TypeAlias = int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class IndexSpec:
    """All that an index was asked for: built again from the same documents, it is the same.

    Attributes
    ----------
    name
        Several indexes can lie beside each other; `default` is the one that queries use.
    method
        The projection.
    dims, alpha
        None leaves the choice to the method, by a stated rule.
    neighbours
        How many neighbours each document names in the graph.
    graph
        Who is a neighbour of whom, by the name of a graph; "auto": the nearest, and those of a
        common label where labels are used.
    radius
        Within which distance of unit rows, where the graph is a ball; None leaves it to the graph.
    edge_weights
        How much an edge of neighbours counts: "cosine", "binary" (all alike) or "heat".
    settings
        What the method alone has, by the name of its parameter: {"cardinality": 50}. Values may be
        texts, as they are typed.
    pairs
        What is known of documents by their ids: ("must", one, other) belong together, ("cannot",
        one, other) do not.
    labels
        "ignore", or "use": documents with a common label are neighbours too.
    weighting
        How counts become weights.
    train
        Which documents `classify` learns from: "auto" (those of the split "train" if any is
        labelled, else all), "all", "none", or the name of a split.
    where
        Which documents; all, if not given.
    seed
        Of every random choice.
    learn_predicted
        Whether predicted labels count as given where a document has no other.
    """

    name: str = "default"
    method: str = "rlpi"
    dims: int | None = None
    alpha: float | None = None
    neighbours: int = 15
    graph: str = "auto"
    radius: float | None = None
    edge_weights: str = "cosine"
    settings: Mapping[str, Setting] = field(default_factory=dict)
    pairs: tuple[tuple[str, str, str], ...] = ()
    labels: str = "ignore"
    weighting: str = "log-tfidf"
    train: str = "auto"
    where: Filter = field(default_factory=Filter)
    seed: int = 0
    learn_predicted: bool = False

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON value, as it is stored with the index."""
        values = {each.name: getattr(self, each.name) for each in fields(IndexSpec)}
        return values | {"where": self.where.as_dict(), "settings": dict(self.settings)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read it from a JSON value of this program, of an earlier or of a later one.

        What is missing is as it is without being asked for; what is not known is passed over.
        """
        known = {each.name: values[each.name] for each in fields(cls) if each.name in values}
        pairs = tuple((kind, one, other) for kind, one, other in known.get("pairs") or ())
        where = Filter.from_dict(known.get("where") or {})
        return cls(**known | {"where": where, "pairs": pairs})


@dataclass(frozen=True, slots=True)
class IndexOptions(IndexSpec):
    """What `lpisearch index` was asked to do: what to build, and how to go about it.

    Attributes
    ----------
    wait_seconds
        How long to wait for another process that is writing.
    memory
        How many bytes of memory the build may take; None leaves that to the size of the library.
    index_store
        Where the indexes of a library in a database are kept, from now on: a folder that its users
        share, or "db"; "" leaves it as it is.
    export_pgvector
        Write the vectors of documents to a table too, for other programs that speak SQL.
    cluster
        The address of the scheduler of a Dask cluster that does the work: "tcp://HOST:8786".
    workers
        How many processes of this machine do the work; 0 leaves it to the threads of this one.
    """

    wait_seconds: float = 30.0
    memory: int | None = None
    index_store: str = ""
    export_pgvector: bool = False
    cluster: str = ""
    workers: int = 0

    @property
    def spec(self) -> IndexSpec:
        """What to build."""
        return IndexSpec(**{each.name: getattr(self, each.name) for each in fields(IndexSpec)})


class IndexFields(TypedDict, total=False):
    """What `Library.index` takes by name: the fields of `IndexOptions` but the method."""

    name: str
    dims: int | None
    alpha: float | None
    neighbours: int
    graph: str
    radius: float | None
    edge_weights: str
    settings: Mapping[str, Setting]
    pairs: tuple[tuple[str, str, str], ...]
    labels: str
    weighting: str
    train: str
    where: Filter
    seed: int
    learn_predicted: bool
    wait_seconds: float
    memory: int | None
    index_store: str
    export_pgvector: bool
    cluster: str
    workers: int


RELEVANCE = "relevance"
SORTS = (RELEVANCE, "date", "oldest", "title", "path")
"""The orders that hits may have."""
ENTRY_SORTS = ("added", "date", "oldest", "title", "path", "id")
"""The orders that a listing of documents may have."""


@dataclass(frozen=True, slots=True)
class SearchOptions:
    """How `lpisearch query` is to answer.

    Attributes
    ----------
    by
        "hybrid", "semantic" (cosine in the subspace alone) or "lexical" (BM25 alone).
    k, offset
        How many hits, and how many of the best to pass over first.
    where
        Which documents may be found: applied before ranking.
    min_score
        Leave out hits below it; None keeps all.
    collapse
        Show one of several documents that are nearly the same.
    index
        The name of the index.
    explain
        Say of each hit which words make it near.
    semantic_weight
        How much the subspace counts beside the words in hybrid; None leaves it to the index.
    sort
        "relevance"; or the best hits by "date" (newest first), "oldest", "title" or "path".
    facets
        Count by label, split, folder, format and date all that may be found.
    """

    by: str = "hybrid"
    k: int = 10
    offset: int = 0
    where: Filter = field(default_factory=Filter)
    min_score: float | None = None
    collapse: bool = False
    index: str = "default"
    explain: bool = False
    semantic_weight: float | None = None
    sort: str = RELEVANCE
    facets: bool = False


@dataclass(frozen=True, slots=True)
class ClassifyOptions:
    """How `lpisearch classify` is to judge.

    Attributes
    ----------
    classifier
        "auto", the best on what was held out while indexing, or "centroid", "knn", "map-svm",
        "svm", "svm+centroid" or "svm+map-svm".
    k
        How many labels to give, best first.
    index
        The name of the index.
    confidence
        Where the best label has a smaller share, the answer is “none of these”.
    """

    classifier: str = "auto"
    k: int = 5
    index: str = "default"
    confidence: float = 0.5


@dataclass(frozen=True, slots=True)
class TopicOptions:
    """What `lpisearch topics` is to find.

    Attributes
    ----------
    number
        Of topics; None reads it off the spectrum of the index.
    terms, documents
        How many of each to show for a topic.
    seed
        Of every random choice.
    index
        The name of the index.
    """

    number: int | None = None
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"


@dataclass(frozen=True, slots=True)
class DimensionOptions:
    """Which dimensions `lpisearch topics --method` is to show.

    Attributes
    ----------
    method
        One whose dimensions have few words each.
    dims
        How many dimensions.
    terms, documents
        How many of each to show at each end of a dimension.
    seed
        Of every random choice, if the map is learned for this alone.
    index
        The name of an index that is used as it is, if it is of this method.
    """

    method: str
    dims: int = 10
    terms: int = 8
    documents: int = 3
    seed: int = 0
    index: str = "default"

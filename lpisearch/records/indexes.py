"""Index plans and index reports."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """What building an index will take, before it begins.

    Attributes
    ----------
    documents, words
        How many there are.
    terms
        At most so many become columns of the matrix.
    memory_mb, seconds
        Estimates, from the words and the method.
    learned_from
        A map is learned from so many documents at most.
    labels_learned_from
        The labels are learned from so many documents at most.
    in_files
        Whether what is worked out is kept in files meanwhile, not in memory: a build that is
        killed goes on from them.
    stages
        The seconds of each stage, in the order in which they come.
    """

    documents: int
    words: int
    terms: int
    memory_mb: float
    seconds: float
    learned_from: int = 20_000
    in_files: bool = False
    stages: dict[str, float] = field(default_factory=dict)
    labels_learned_from: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class BuiltIndex:
    """What came out of a build; it stays with the index.

    Attributes
    ----------
    dims, alpha
        As chosen; alpha is None for a method that has none.
    documents, terms
        The size of the matrix.
    components, isolated
        Connected parts of the graph, and documents without a neighbour; None without a graph.
    learned_from
        How many documents the map was learned from: of near-duplicates one, of very many a sample.
    graph_recall
        Of the exact nearest neighbours of some documents: the share that the graph joins
        ("edges"), the share of their cosines that these are ("weight"), and how many documents
        were looked at ("sample"; 0 of a graph that is exact by its making). None of other graphs.
    unknown_rate
        Share of the corpus' words that are not in the vocabulary, being too rare.
    classifier
        What was learned from the labels (see `lpisearch.classifiers.training.Learned`); None
        without labels.
    notes
        What is to be known of the map.
    """

    dims: int = 0
    alpha: float | None = None
    documents: int = 0
    terms: int = 0
    components: int | None = None
    isolated: int | None = None
    learned_from: int = 0
    graph_recall: dict[str, float] | None = None
    unknown_rate: float = 0.0
    classifier: dict[str, Any] | None = None
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return it as a JSON value."""
        return {each.name: getattr(self, each.name) for each in fields(BuiltIndex)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BuiltIndex:
        """Read it from a JSON value of any version; what is not known here is passed over."""
        known = [each.name for each in fields(BuiltIndex) if each.name in values]
        return BuiltIndex(**{name: values[name] for name in known})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport(BuiltIndex):
    """What building an index gave, and what it took.

    Attributes
    ----------
    name, method
        As asked for.
    seconds
        By stage.
    peak_mb
        The most memory that the process has held.
    size_bytes
        Of the folder.
    folder
        Where the arrays are.
    calibration
        How much the subspace counts beside the words: the weights by the number of words in a
        query, from how many windows of how many documents they were learned, and whether it is
        the safe value, there being too little to learn from.
    passages
        How many passages long documents have.
    resumed
        The steps that an earlier run, which was killed, had finished.
    processor_seconds
        By stage, of all cores: what a busy machine does not change.
    wire
        By stage, if other processes did the work: parts, the bytes that were sent for each of them,
        shared by all of them, and received, and the processor seconds of those who worked.
    """

    name: str
    method: str
    seconds: dict[str, float]
    peak_mb: float
    size_bytes: int
    folder: str
    calibration: dict[str, Any] = field(default_factory=dict)
    passages: int = 0
    resumed: list[str] = field(default_factory=list)
    processor_seconds: dict[str, float] = field(default_factory=dict)
    wire: dict[str, dict[str, float]] = field(default_factory=dict)

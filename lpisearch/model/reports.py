"""Index and evaluation reports; TREC run lines.

The fields of a run and of judgements stand between spaces, and programs that read them part at any
white space. So a name is written percent-encoded as in a URL: "%", white space and what cannot be
seen become the bytes of their UTF-8, such as %20. No two names are written alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, fields
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import quote, unquote

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Iterator, Mapping

    from lpisearch.model.answers import Run


Cell: TypeAlias = "str | int | float | bool | None"


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of one evaluation.

    Attributes
    ----------
    name
        The evaluation: "similarity", "classify", …
    title
        One line for people.
    rows
        Each names its cells; shares lie between 0 and 1. Rows need not have the same cells.
    notes
        What is to be known beside the figures: documents left out, pairs sampled, ….
    """

    name: str
    title: str
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all cells, in the order of their first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a figure: values of y at values of x, and how far they spread (±)."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure against a parameter, a line for each method; or named groups of bars.

    Attributes
    ----------
    name
        Of its file, without suffix.
    title, x_label, y_label
        For people.
    series
        The lines.
    log_x
        Whether x is drawn on a logarithmic scale.
    groups
        What each x means, counted from 0, where it is no number: then bars are drawn.
    """

    name: str
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    groups: tuple[str, ...] = ()

    def x_text(self, x: float) -> str:
        """Say in words what an x means."""
        return self.groups[int(x)] if self.groups else f"{float(x):g}"

    @property
    def baselines(self) -> tuple[Series, ...]:
        """The series that hold at every x: those with one point, where others have more."""
        if self.groups:
            return ()
        single = tuple(series for series in self.series if len(series.x) == 1)
        return single if any(len(series.x) > 1 for series in self.series) else ()


@dataclass(frozen=True, slots=True)
class Report:
    """All that one evaluation found.

    Attributes
    ----------
    title
        One line for people.
    command
        What was typed.
    parameters
        What the figures depend on, by name.
    versions
        Of the libraries that computed them.
    tables, figures
        The findings.
    resumed
        How many parts an earlier run that was stopped had finished.
    """

    title: str
    command: str
    parameters: Mapping[str, Cell]
    versions: Mapping[str, str]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = field(default=())
    resumed: int = 0


def plain(value: object) -> Cell:
    """Give a cell as Python's own type, in full precision; what is not a finite number is None."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):  # NumPy's integers are no subclass of int
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return str(value)


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
        What was learned from the labels (see `lpisearch.classifiers.trainer.Learned`); None
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


_RUN_NAME = "lpisearch"
_ERRORS = "surrogatepass"  # halves of pairs, which JSON can state, come back too


def run_lines(runs: Iterable[Run]) -> Iterator[str]:
    """Yield the lines of a TREC run.

    Scores fall strictly, so that no program has to break a tie.

    Examples
    --------
    >>> list(run_lines([("q 1", [("my letters/one.txt", 2.5), ("two.txt", 2.5)])]))
    ['q%201 Q0 my%20letters/one.txt 1 2.5 lpisearch', 'q%201 Q0 two.txt 2 2.49999976 lpisearch']
    """
    for query, ranked in runs:
        ceiling = float("inf")
        for rank, (document, score) in enumerate(ranked, start=1):
            ceiling = _below(score, ceiling)
            names = f"{as_field(query)} Q0 {as_field(document)}"
            yield f"{names} {rank} {ceiling:.9g} {_RUN_NAME}"


def as_field(name: str) -> str:
    """Return a name as one field of a run or of judgements."""
    return "".join(
        quote(sign, safe="", errors=_ERRORS) if _is_written(sign) else sign for sign in name
    )


def named(field: str, known: Container[str]) -> str:
    """Return the name that a field of judgements means, of those that are known.

    That is the one which would be written so; else the field itself, as files that were not made
    from a run name a document.
    """
    try:
        name = unquote(field, errors=_ERRORS)
    except UnicodeDecodeError:  # nothing is written so
        return field
    return field if field in known and name not in known else name


def _is_written(sign: str) -> bool:
    return sign in "% " or not sign.isprintable()


def _below(score: float, ceiling: float) -> float:
    """Return the score, or the next smaller one that trec_eval, which reads float32, can tell."""
    import numpy as np

    single = np.float32(score)
    if float(single) < ceiling:
        return float(single)
    return float(np.nextafter(np.float32(ceiling), np.float32(-np.inf)))

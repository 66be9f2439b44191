"""Reports of index builds and evaluations, and TREC runs."""

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
        Cells by column, not necessarily the same in every row; shares are between 0 and 1.
    notes
        On the figures: excluded documents, sampled pairs, …
    """

    name: str
    title: str
    rows: tuple[Mapping[str, Cell], ...]
    notes: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns, in the order of first appearance."""
        return tuple(dict.fromkeys(name for row in self.rows for name in row))


@dataclass(frozen=True, slots=True)
class Series:
    """One line of a figure: y at x, perhaps with a spread (±)."""

    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure against a parameter, with a line for each method; or named groups of bars."""

    name: str  # of its file, without suffix
    title: str
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    log_x: bool = False
    groups: tuple[str, ...] = ()  # if x counts them from 0: then the figure has bars

    def x_text(self, x: float) -> str:
        """Return the text of a value of x."""
        return self.groups[int(x)] if self.groups else f"{float(x):g}"

    @property
    def baselines(self) -> tuple[Series, ...]:
        """The series that apply to every x: those with one point, where others have more."""
        if self.groups:
            return ()
        single = tuple(series for series in self.series if len(series.x) == 1)
        return single if any(len(series.x) > 1 for series in self.series) else ()


@dataclass(frozen=True, slots=True)
class Report:
    """The results of one evaluation.

    Attributes
    ----------
    title
        One line for people.
    command
        The command as typed.
    parameters
        Everything that determines the results, by name.
    versions
        Of the libraries that computed them.
    tables, figures
        The results.
    resumed
        The number of parts that an interrupted run had completed.
    """

    title: str
    command: str
    parameters: Mapping[str, Cell]
    versions: Mapping[str, str]
    tables: tuple[Table, ...]
    figures: tuple[Figure, ...] = field(default=())
    resumed: int = 0

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import report_html

        return report_html(self)


def plain(value: object) -> Cell:
    """Return a cell as a Python type in full precision; numbers that are not finite become None."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, Integral):  # NumPy's integers are not a subclass of int
        return int(value)
    if isinstance(value, Real):
        return float(value) if math.isfinite(value) else None
    return str(value)


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """The estimated cost of building an index.

    Attributes
    ----------
    documents, words
        The size of the library.
    terms
        The largest number of columns of the matrix.
    memory_mb, seconds
        Estimates from the words and the method.
    learned_from, labels_learned_from
        The largest numbers of documents to learn the model and the labels from.
    in_files
        Whether intermediate results are kept in files, so that a killed build can continue.
    stages
        The seconds of each stage, in order.
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
    """The result of a build, which is stored with the index.

    Attributes
    ----------
    dims, alpha
        As chosen; alpha is None for a method without it.
    documents, terms
        The size of the matrix.
    components, isolated
        Connected components of the graph, and documents without a neighbour; None without a graph.
    learned_from
        The number of documents to learn from: one of near-duplicates, of very many a sample.
    graph_recall
        For an approximate graph, of the exact nearest neighbours of some documents: the share that
        it joins ("edges"), their share of the cosines ("weight"), and the number of those documents
        ("sample"; 0 for a graph that is exact by construction).
    unknown_rate
        The share of words that are too rare for the vocabulary.
    classifier
        Facts about the classifier (`lpisearch.classifiers.trainer.Learned`), if there are labels.
    notes
        On the model.
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
        """Return the stored fields as a JSON value."""
        return {one.name: getattr(self, one.name) for one in fields(BuiltIndex)}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> BuiltIndex:
        """Read a JSON value of any version, and skip unknown fields."""
        names = {one.name for one in fields(BuiltIndex)} & set(values)
        return BuiltIndex(**{name: values[name] for name in names})


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexReport(BuiltIndex):
    """The result and the cost of building an index.

    Attributes
    ----------
    name, method
        Of the index.
    seconds, processor_seconds
        By stage: elapsed, and of all cores.
    peak_mb
        The largest memory of the process.
    size_bytes, folder
        Of the arrays.
    calibration
        The semantic weights by the number of words in a query, the numbers of windows and of
        documents that they were learned from, and whether they are the safe default.
    passages
        The number of passages of long documents.
    resumed
        The steps that an earlier, killed run had completed.
    wire
        By stage, if other processes did the work: partitions, bytes sent for each and for all,
        bytes received, and the processor seconds of the workers.
    encoder
        Of the user's encoder: its name, the weight of its leg, and the gain in windows of text.
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
    encoder: dict[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import record_html

        return record_html(self)


_RUN_NAME = "lpisearch"
# Programs split the fields of a run at any white space. So "%", white space and invisible
# characters of a name are percent-encoded, as in a URL; no two names are encoded alike.
_ERRORS = "surrogatepass"  # lone surrogates, which JSON allows, survive


def run_lines(runs: Iterable[Run]) -> Iterator[str]:
    """Yield the lines of a TREC run, with strictly decreasing scores, so that there are no ties.

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
        quote(sign, safe="", errors=_ERRORS) if sign in "% " or not sign.isprintable() else sign
        for sign in name
    )


def named(field: str, known: Container[str]) -> str:
    """Return the known name that a field of judgements encodes, else the field itself.

    Files that were not made from a run contain plain names.
    """
    try:
        name = unquote(field, errors=_ERRORS)
    except UnicodeDecodeError:  # no name is encoded so
        return field
    return field if field in known and name not in known else name


def _below(score: float, ceiling: float) -> float:
    """Return the score, or the next smaller float32, as which trec_eval reads it."""
    import numpy as np

    single = np.float32(score)
    if float(single) < ceiling:
        return float(single)
    return float(np.nextafter(np.float32(ceiling), np.float32(-np.inf)))

"""What experiments share: representations of documents, finished parts, figures, the report.

Everything that is learned (vocabulary, idf, projection) comes from the counts passed to
`TermWeights.learn` and `represent`; other documents are only projected.

An interrupted run continues where it stopped. Its finished parts, the cells, are in a file in the
user's cache folder, which is removed when the run completes, so that a second run measures again.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.collection import Collection, digest_of
from lpisearch.graphs.base import GRAPHS
from lpisearch.index.pipeline import library_versions
from lpisearch.index.projection import check_graph, check_settings
from lpisearch.messages import Message, Option, call, nearest, quoted
from lpisearch.methods.catalogue import CATALOGUE
from lpisearch.methods.parameters import MethodOptions, make_method
from lpisearch.model.reports import Cell, Figure, Report, Series, Table
from lpisearch.numeric.threads import one_thread_if_small
from lpisearch.options import ClusterOptions, EvaluateOptions
from lpisearch.text.vocabulary import Weighting, narrow, normalise_rows, weighting_scheme

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.methods.base import DocumentTransformer

    OnCell = Callable[[str, int, int], None]
    Rows = Any  # a csr_array of terms or an array of vectors
    _Point = tuple[float, Mapping[str, Cell], str]


TERMS = "terms"
EVERY = "all"
FEWEST_TERMS = 1000
BASELINES = (TERMS, "lsi")
_LARGEST_SEED = 2**31 - 1  # draws add to it, and NumPy accepts 32 bits
PAPERS = (TERMS, "lsi", "lpi", "rlpi", "olpi")


@dataclass(frozen=True, eq=False, slots=True)
class TermWeights:
    """A vocabulary and its weighting, learned from documents."""

    selected: NDArray[np.bool_]
    weighting: Weighting

    @classmethod
    def learn(cls, collection: Collection, scheme: str) -> TermWeights:
        """Learn from all documents of a collection."""
        counts = collection.counts
        frequencies = np.bincount(counts.indices, minlength=counts.shape[1])
        selected = collection.limits.choose(frequencies, len(collection))
        weighting = Weighting.fit(narrow(counts, selected), scheme or collection.weighting)
        return cls(selected, weighting)

    def apply(self, counts: csr_array) -> csr_array:
        """Return the weights of any documents, at unit length."""
        return normalise_rows(self.weighting.apply(narrow(counts, self.selected)))


@dataclass(frozen=True, eq=False, slots=True)
class Represented:
    """A learned representation."""

    name: str  # "terms" or the method
    dims: int
    seconds: float  # of fitting, including the graph
    estimator: DocumentTransformer | None  # None for terms
    scales: NDArray[np.floating[Any]] | None  # factors of the dimensions for cosines

    @property
    def alpha(self) -> float | None:
        """The strength of the ridge penalty, if any."""
        alpha = None if self.estimator is None else self.estimator.alpha_
        return None if alpha is None else float(alpha)

    def vectors(self, X: csr_array) -> Rows:
        """Project documents without scaling, as the papers cluster them."""
        return X if self.estimator is None else self.estimator.transform(X)

    def directions(self, X: csr_array, dims: int | None = None) -> Rows:
        """Project documents, scale the dimensions and normalise the rows."""
        from lpisearch.index.subspace import scaled_rows

        if self.estimator is None or self.scales is None:
            return X
        vectors = np.asarray(self.estimator.transform(X), np.float32)
        return scaled_rows(vectors[:, :dims], np.asarray(self.scales[:dims], np.float32))


def represent(
    name: str,
    X: csr_array,
    options: EvaluateOptions,
    *,
    dims: int | None = None,
    labels: Sequence[Any] | None = None,
) -> Represented:
    """Learn "terms" or a method from weighted documents (rows at unit length).

    `dims` applies if the options do not set it; `labels` are for methods that can learn from them.
    """
    if name == TERMS:
        return Represented(name, X.shape[1], 0.0, None, None)
    from lpisearch.methods.base import NotConverged

    wanted = MethodOptions.of(options, options.scale, dims)
    estimator = make_method(name, wanted, X.shape[0])
    began = time.perf_counter()
    try:
        with one_thread_if_small(X.shape[0]), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the table shows the number of dimensions
            warnings.simplefilter("always", NotConverged)  # recorded by `Cells`
            estimator.fit(X, labels if takes_labels(name) else None)
    except ValueError as error:
        raise NothingToEvaluate(
            f"Cannot train {name} on these documents: {error}",
            Message(
                "drop it with ",
                Option("methods"),
                ", or choose other options: ",
                call("help", "evaluate"),
            ),
        ) from error
    seconds = time.perf_counter() - began
    return Represented(
        name, estimator.n_components_, seconds, estimator, np.asarray(estimator.scales_)
    )


def chosen_methods(options: EvaluateOptions, usual: Sequence[str]) -> tuple[str, ...]:
    """Return the representations to compare; BadOption lists all unknown names."""
    known = [TERMS, *CATALOGUE]
    if EVERY in options.methods:
        return tuple(known)
    unknown = [name for name in options.methods if name not in known]
    if unknown:
        hint = nearest(unknown[0], known)
        raise BadOption("methods", f"unknown method {quoted(unknown)}{hint}", [EVERY, *known])
    return tuple(dict.fromkeys(options.methods or usual))


def takes_labels(name: str) -> bool:
    """Return whether a method can learn from labels."""
    return name != TERMS and CATALOGUE[name].has_graph


def leaves_out_constant(name: str) -> bool:
    """Return whether a method drops the constant direction: c classes need c - 1 dimensions."""
    return takes_labels(name) and not CATALOGUE[name].keeps_constant


def is_nested(name: str) -> bool:
    """Return whether fewer dimensions are the first of more, so that one fit serves all."""
    return name != TERMS and CATALOGUE[name].is_nested


def depends_on(name: str, parameter: str) -> bool:
    """Return whether a representation has a parameter of that name."""
    return name != TERMS and parameter in CATALOGUE[name].parameters


def class_dimensions(name: str, n_classes: int) -> int:
    """Return the number of dimensions used in the papers for a number of classes.

    A method that selects terms gets 1,000, the fewest in lpfl-2012.
    """
    if name != TERMS and CATALOGUE[name].selects_terms:
        return FEWEST_TERMS
    return max(n_classes - 1, 1) if leaves_out_constant(name) else n_classes


def check_options(
    options: EvaluateOptions, methods: Sequence[str], *, has_labels: bool = False
) -> None:
    """Raise BadOption for options that do not fit the methods compared."""
    if options.weighting:
        weighting_scheme(options.weighting)
    if options.dims is not None and options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.neighbours < 1:
        raise BadOption("neighbours", f"must be at least 1, not {options.neighbours}")
    if options.alpha is not None and not 0 <= options.alpha < np.inf:
        raise BadOption("alpha", f"must be 0 or more, not {options.alpha}")
    if not 0 <= options.scale < np.inf:
        raise BadOption("scale", f"must be 0 or more, not {options.scale}")
    if not 0 <= options.seed <= _LARGEST_SEED:
        raise BadOption("seed", f"must be between 0 and {_LARGEST_SEED:,}, not {options.seed}")
    check_graph(options, methods)
    if not has_labels and options.graph in GRAPHS and GRAPHS[options.graph].needs_labels:
        raise BadOption("graph", f"{options.graph} is built from labels, which only classify uses")
    check_settings(options.settings, methods)
    if options.largest is not None and options.largest < 2:  # noqa: PLR2004 (the least to tell apart)
        raise BadOption("largest", f"must be at least 2, not {options.largest}")


_EXPIRY_DAYS = 30
_OWNER_ONLY = 0o600  # the parts tell about a library, which may be private


class _Part(NamedTuple):
    value: Any
    notes: list[str]


def quiet(_name: str, _done: int, _total: int) -> None:
    """Report nothing."""


@dataclass(slots=True)
class Cells:
    """Values by key; each is computed once and saved at once."""

    path: Path | None = None  # None: in memory only
    on_cell: OnCell = quiet  # called as a part begins: its name, parts done, parts in total
    total: int = 0  # as far as is known
    resumed: int = 0  # parts that an earlier run had finished
    _known: dict[str, _Part] = field(default_factory=dict)
    _done: int = 0
    _warnings: dict[str, list[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.path is not None:
            self._known = _read(self.path)

    def value(self, name: str, compute: Callable[[], Any], *varied: object) -> Any:
        """Return the JSON value of a part, computed unless known; name and `varied` are its key."""
        self.on_cell(name, self._done, max(self.total, self._done + 1))
        self._done += 1
        key = _key(name, varied)
        if key in self._known:
            self.resumed += 1
        else:
            self._known[key] = _computed(compute)
            if self.path is not None:
                self._append(self.path, key, self._known[key])
        part = self._known[key]
        for note in part.notes:
            self._warnings.setdefault(name.rpartition(", draw ")[0] or name, []).append(note)
        return part.value

    @property
    def notes(self) -> list[str]:
        """Warnings about the parts: iterations that did not converge."""
        return [
            f"{name}: {notes[0]}" + (f" (Occurred {len(notes):,} times.)" if len(notes) > 1 else "")
            for name, notes in self._warnings.items()
        ]

    def has(self, name: str, *varied: object) -> bool:
        """Return whether a part is known."""
        return _key(name, varied) in self._known

    def finish(self) -> None:
        """Remove the file: the run is complete."""
        if self.path is not None:
            with suppress(OSError):
                self.path.unlink(missing_ok=True)

    def _append(self, path: Path, key: str, part: _Part) -> None:
        entry = {"key": key, "value": part.value, "notes": part.notes}
        # The line break comes first, so that a truncated entry does not swallow the next one.
        line = "\n" + json.dumps(entry, ensure_ascii=False)
        try:
            path.parent.mkdir(mode=_OWNER_ONLY | 0o100, parents=True, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, _OWNER_ONLY)
            with os.fdopen(descriptor, "a", encoding="utf-8") as stream:
                stream.write(line)
                stream.flush()
                os.fsync(stream.fileno())
        except OSError:  # go on without a file
            self.path = None


@contextmanager
def resumable_cells(signature: Mapping[str, Any], on_cell: OnCell = quiet) -> Iterator[Cells]:
    """Keep the parts of a run, identified by its signature, until the block ends without error.

    The signature holds JSON values and paths; a path stands for the current state of the file.
    """
    text = json.dumps(signature, sort_keys=True, default=_file_state)
    folder = cache_folder()
    name = f"{digest_of([text.encode()])}.jsonl"
    if folder is not None:
        _remove_expired(folder)
    cells = Cells(None if folder is None else folder / name, on_cell)
    yield cells
    cells.finish()


def cache_folder() -> Path | None:
    """Return the folder of unfinished evaluations; None for a user without a home."""
    base = os.environ.get("XDG_CACHE_HOME")
    if not base:
        try:
            base = str(Path.home() / ".cache")
        except RuntimeError:
            return None
    return Path(base) / "lpisearch" / "evaluations"


def _computed(compute: Callable[[], Any]) -> _Part:
    from lpisearch.methods.base import NotConverged

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NotConverged)
        value = compute()
    notes = [str(one.message) for one in caught if issubclass(one.category, NotConverged)]
    return _Part(value, notes)


def _key(name: str, varied: tuple[object, ...]) -> str:
    return ", ".join(map(str, (name, *varied)))


def _remove_expired(folder: Path) -> None:
    """Remove runs that were never resumed."""
    oldest = time.time() - _EXPIRY_DAYS * 24 * 3600
    with suppress(OSError):
        for path in folder.glob("*.jsonl"):
            if path.stat().st_mtime < oldest:
                path.unlink(missing_ok=True)


def _file_state(value: Any) -> Any:
    """Identify the state of a file by its size and time."""
    if not isinstance(value, Path):
        return str(value)
    state: list[object] = [str(value.resolve())]
    with suppress(OSError):
        status = value.stat()
        state += [status.st_size, status.st_mtime_ns]
    return state


def _read(path: Path) -> dict[str, _Part]:
    """Read the saved parts, skipping a truncated line."""
    known: dict[str, _Part] = {}
    with suppress(OSError), path.open("rb") as stream:
        for line in stream:
            with suppress(ValueError, TypeError, KeyError):
                entry = json.loads(line)
                known[entry["key"]] = _Part(entry["value"], entry.get("notes", []))
    return known


# Columns that distinguish rows of one representation, and how they appear in a name.
_SUFFIXES = {"classifier": "{}", "by": "{}", "classes": "{} classes"}
_LEAST_FOR_LOGARITHM = 20
"""The least ratio of largest to smallest value for a logarithmic axis."""


def compared(table: Table, measures: Sequence[str]) -> Figure:
    """Plot measures as groups of bars, with one bar per row in each group."""
    name = _namer(table.rows)
    series = tuple(
        _series(name(row), [(at, row, measure) for at, measure in enumerate(measures)])
        for row in table.rows
    )
    y_label = ", ".join(measures)
    return Figure(table.name, table.title, "measure", y_label, series, groups=tuple(measures))


def compared_by(table: Table, group: str, measure: str) -> Figure:
    """Plot one measure as bars, grouped by a column."""
    names = tuple(dict.fromkeys(str(row[group]) for row in table.rows))
    rows = [{key: row[key] for key in row if key != group} for row in table.rows]
    name = _namer(rows)
    points: dict[str, list[_Point]] = {}
    for row, rest in zip(table.rows, rows, strict=True):
        points.setdefault(name(rest), []).append((names.index(str(row[group])), row, measure))
    series = tuple(_series(label, own) for label, own in points.items())
    title = f"{table.title}: {measure}"
    return Figure(f"{table.name}-{measure}", title, group, measure, series, groups=names)


def curves(table: Table, over: str, measure: str, x_label: str) -> Figure:
    """Plot a measure against a parameter; a row without the parameter applies to every value."""
    values = sorted({_number(row[over]) for row in table.rows if row[over] is not None})
    name = _namer([{key: row[key] for key in row if key != over} for row in table.rows])
    points: dict[str, list[_Point]] = {}
    for row in table.rows:
        x = min(values, default=0.0) if row[over] is None else _number(row[over])
        points.setdefault(name(row), []).append((x, row, measure))
    return Figure(
        name=f"{table.name}-{measure}-by-{over}",
        title=f"{table.title}: {measure}",
        x_label=x_label,
        y_label=measure,
        series=tuple(_series(label, own) for label, own in points.items()),
        log_x=bool(values) and values[-1] >= _LEAST_FOR_LOGARITHM * values[0] > 0,
    )


def _namer(rows: Sequence[Mapping[str, Cell]]) -> Callable[[Mapping[str, Cell]], str]:
    """Return a function that names a row by its representation and what varies."""
    varied = [name for name in _SUFFIXES if len({row.get(name) for row in rows}) > 1]

    def name(row: Mapping[str, Cell]) -> str:
        suffixes = [_SUFFIXES[column].format(row.get(column)) for column in varied]
        words = [str(row.get("representation", "")), *suffixes]
        return " ".join(filter(None, words)) or str(row.get("by", ""))

    return name


def _series(name: str, points: Sequence[_Point]) -> Series:
    ordered = sorted(points, key=lambda point: point[0])
    spreads = [row.get(f"{measure}_sd") for _, row, measure in ordered]
    return Series(
        name,
        tuple(x for x, _, _ in ordered),
        tuple(_number(row[measure]) for _, row, measure in ordered),
        None if None in spreads else tuple(map(_number, spreads)),
    )


def _number(cell: Cell) -> float:
    return float(cell or 0)


_TOKENISER_SETTINGS = ("language", "stop_words", "stemmer")


def as_report(
    title: str,
    collection: Collection | None,
    options: Sequence[Any],
    tables: Sequence[Table],
    figures: Sequence[Figure] = (),
) -> Report:
    """Make a report of tables and figures with the parameters (dataclasses) they depend on."""
    parameters: dict[str, Cell] = {}
    if collection is not None:
        parameters |= {
            "documents": len(collection),
            "source": collection.name,
            "fingerprint": collection.fingerprint,
            "weighting": collection.weighting,
        }
        if collection.tokeniser is not None:
            settings = asdict(collection.tokeniser)
            parameters |= flat({name: settings[name] for name in _TOKENISER_SETTINGS})
    for part in options:
        parameters |= flat(asdict(part))
        if isinstance(part, ClusterOptions):
            parameters["classes"] = ", ".join(str(number or "all") for number in part.classes)
    return Report(title, "", parameters, library_versions(), tuple(tables), tuple(figures))


def flat(values: Mapping[str, Any]) -> dict[str, Cell]:
    """Return options as cells, without those left to the program."""
    own: dict[str, Any] = dict(values)
    for name in [name for name, value in own.items() if isinstance(value, dict)]:
        own |= own.pop(name)
    return {name: _cell(value) for name, value in own.items() if value not in (None, "", ())}


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{part:g}" if isinstance(part, float) else str(part) for part in value)
    return str(value) if isinstance(value, Path) else value


def mean_and_spread(measure: str, rows: Sequence[Mapping[str, Any]]) -> dict[str, Cell]:
    """Return the mean of a measure and, of several rows, its sample standard deviation."""
    values = [row[measure] for row in rows]
    spread: dict[str, Cell] = {f"{measure}_sd": stdev(values)} if len(values) > 1 else {}
    return {measure: fmean(values)} | spread

"""Measures of predicted labels, and paired significance tests of the rows of a table.

A prediction is one label per document; it is correct if it is one of the document's labels.
Documents without a label are skipped. `labels` may be in any form that
`lpisearch.graphs.supervision.memberships` accepts: a value or a list of values per document, where
None, -1, "", NaN and an empty list mean unlabelled. Every measure raises ValueError if no document
has a label or the lengths differ.

Rows of a table have values for the same units: queries, documents or draws. All pairs of rows of a
group are compared by the paired randomisation test, with Holm's correction for all pairs of the
group, so that picking the best row afterwards does not bias its p-values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse, stats

from lpisearch.graphs.supervision import memberships
from lpisearch.messages import counted, quoted
from lpisearch.methods.base import check_count, generator
from lpisearch.model.reports import Cell, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Matrix

    Labels: TypeAlias = Sequence[Any] | NDArray[Any]
    Whole = NDArray[np.integer[Any]]
    Flags = NDArray[np.bool_]
    Floats = NDArray[np.floating[Any]]
    Row = Mapping[str, Cell]


@dataclass(frozen=True, slots=True)
class Confused:
    """Documents of one label predicted as another; `share` is relative to all with that label."""

    label: Any
    predicted: Any
    count: int
    share: float


def accuracy(labels: Labels, predicted: Labels) -> float:
    """Return the share of correct predictions.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import accuracy
    >>> accuracy(["a", "b", ["a", "b"], "b"], ["a", "a", "b", "b"])
    0.75
    """
    matrix, _ = confusion(labels, predicted)
    return float(matrix.trace() / matrix.sum())


def macro_f1(labels: Labels, predicted: Labels) -> float:
    """Return the unweighted mean of F1 over all labels, true or predicted.

    F1 is 0 for a label that is only true or only predicted.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import macro_f1
    >>> round(macro_f1(["a", "a", "b", "b"], ["a", "b", "b", "b"]), 4)
    0.7333
    """
    matrix, _ = confusion(labels, predicted)
    totals = matrix.sum(axis=0) + matrix.sum(axis=1)
    return float(np.mean((2 * matrix.diagonal() / totals.clip(1))[totals > 0]))


def confusion(labels: Labels, predicted: Labels) -> tuple[NDArray[np.integer[Any]], list[Any]]:
    """Count documents by label (rows) and prediction (columns); return the names too.

    A document with several labels counts in the row of its prediction if that is one of them,
    otherwise in the row of its alphabetically first label.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import confusion
    >>> matrix, names = confusion(["a", "a", "b"], ["a", "b", "b"])
    >>> matrix.tolist(), names
    ([[1, 1], [0, 1]], ['a', 'b'])
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    known, guesses = Labelling.of(labels), as_list(predicted)
    names = sorted({*known.names, *(guesses[row] for row in known.rows)}, key=_by_name)
    numbers = {name: number for number, name in enumerate(names)}
    matrix = np.zeros((len(names), len(names)), dtype=np.int64)
    for at, row in enumerate(known.rows):
        own = known.flags.indices[known.flags.indptr[at] : known.flags.indptr[at + 1]]
        true = [known.names[number] for number in sorted(own)]
        guess = guesses[row]
        matrix[numbers[guess if guess in true else true[0]], numbers[guess]] += 1
    return matrix, names


def worst_pairs(labels: Labels, predicted: Labels, number: int = 10) -> list[Confused]:
    """List the most frequent confusions: by count, then by share, then by name.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import worst_pairs
    >>> worst_pairs(["a", "a", "b", "b"], ["b", "b", "a", "b"], number=1)
    [Confused(label='a', predicted='b', count=2, share=1.0)]
    """
    matrix, names = confusion(labels, predicted)
    sizes = matrix.sum(axis=1)
    wrong = matrix - np.diag(matrix.diagonal())
    pairs = [
        Confused(names[row], names[column], int(wrong[row, column]),
                 float(wrong[row, column] / sizes[row]))
        for row, column in np.argwhere(wrong)
    ]  # fmt: skip
    return sorted(pairs, key=lambda pair: (-pair.count, -pair.share))[:number]


def _by_name(label: Any) -> tuple[str, Any]:
    """Order labels of one type by their value, as `memberships` does."""
    return str(type(label)), label


class SetF1(NamedTuple):
    """F1 over all pairs of document and label (micro), and its mean over labels (macro)."""

    micro: float
    macro: float


def set_f1(labels: Labels, predicted: Labels) -> SetF1:
    """Return F1 of predicted sets of labels.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import set_f1
    >>> f1 = set_f1([["a", "b"], ["a"], ["b"]], [["a"], ["a"], ["a"]])
    >>> round(f1.micro, 4), round(f1.macro, 4)
    (0.5714, 0.4)
    """
    if len(labels) != len(predicted):
        raise ValueError(f"There are {len(labels)} labels, but {len(predicted)} predictions.")
    true, guesses = as_list(labels), as_list(predicted)
    hits: Counter[object] = Counter()
    totals: Counter[object] = Counter()
    for row in Labelling.of(labels).rows.tolist():
        own, guess = _as_set(true[row]), _as_set(guesses[row])
        totals.update((*own, *guess))
        hits.update(own & guess)
    by_label = [2 * hits[name] / count for name, count in totals.items()]
    return SetF1(2 * hits.total() / totals.total(), sum(by_label) / len(by_label))


def _as_set(labels: object) -> set[object]:
    return set(labels) if isinstance(labels, (list, tuple, set, frozenset)) else {labels}


_BLOCK = 256


@dataclass(frozen=True)
class Labelling:
    """The labelled documents and their classes."""

    rows: Whole  # of the labelled documents, ascending
    names: list[Any]  # of the classes, sorted
    numbers: Whole | None  # the class of each of `rows`; None if a document has several
    flags: sparse.csr_array  # rows x classes, 1 where the document has the label

    @classmethod
    def of(cls, labels: Labels) -> Labelling:
        """Parse labels; raise ValueError if no document has one."""
        shares, names = memberships(
            labels, np.shape(labels)[0] if sparse.issparse(labels) else len(labels)
        )
        counts = np.diff(shares.indptr)
        rows = np.flatnonzero(counts)
        flags = sparse.csr_array(shares[rows])
        flags.data = np.ones(flags.nnz, dtype=np.int32)
        return cls(rows, names, flags.indices if counts.max() == 1 else None, flags)

    def single(self, purpose: str) -> Whole:
        """Return the class of each labelled document; raise ValueError if one has several."""
        if self.numbers is None:
            count = int(np.count_nonzero(np.diff(self.flags.indptr) > 1))
            raise ValueError(f"{purpose} needs one label a document, but {count} have several.")
        return self.numbers

    def shared(self, first: slice | Whole, second: slice | Whole) -> Flags:
        """Return which pairs of two lists of labelled documents share a label."""
        if self.numbers is not None:
            same: Flags = self.numbers[first, np.newaxis] == self.numbers[second]
            return same
        common = self.flags[first] @ self.flags[second].T
        return np.asarray(common.toarray() > 0)

    def companions(self) -> Whole:
        """Count the documents that share a label with each document, itself included."""
        if self.numbers is not None:
            return np.asarray(np.bincount(self.numbers)[self.numbers])
        blocks = range(0, len(self.rows), _BLOCK)
        return np.concatenate([self._shared_counts(start, start + _BLOCK) for start in blocks])

    def _shared_counts(self, start: int, stop: int) -> Whole:
        return np.asarray(np.diff(sparse.csr_array(self.flags[start:stop] @ self.flags.T).indptr))


def as_list(labels: Any) -> list[Any]:
    """Return labels as a list of plain Python values."""
    return list(labels.tolist() if isinstance(labels, np.ndarray) else labels)


def as_matrix(Y: Any) -> Matrix:
    """Return documents as an array or a csr_array."""
    return sparse.csr_array(Y) if sparse.issparse(Y) else np.asarray(Y)  # type: ignore[call-overload]  # the stubs know no matrix of unknown shape


def as_names(names: Sequence[Any]) -> NDArray[Any]:
    """Return names as an array of their common type, otherwise of objects."""
    if len({type(name) for name in names}) == 1 and not isinstance(names[0], tuple):
        return np.array(names)
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = names
    return mixed


ALL_SIGNS = 12
"""With at most this many differing queries, every choice of signs is tried."""
NORMAL = 1000
"""With more differing queries, the distribution over all signs is taken as normal."""
CONFIDENCE = 0.95
_SIGNS = 2**20
# The largest relative difference of sums of the same numbers in another order.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class PairedTest:
    """The difference between two settings."""

    difference: float  # mean of first - second over the queries
    p_value: float
    low: float  # 95% interval of the difference; infinite with one query
    high: float
    queries: int


def paired_test(
    first: Mapping[Any, float] | Sequence[float],
    second: Mapping[Any, float] | Sequence[float],
    *,
    rounds: int = 10_000,
    random_state: Any = 0,
) -> PairedTest:
    """Test two settings on the same queries by the two-sided paired randomisation test.

    Under the null hypothesis each difference could equally have the other sign. The p-value is the
    share of all choices of signs whose mean is at least as far from 0 as the observed one. With at
    most 12 differing queries all choices are tried; if all differences have one size, as with
    correct and wrong answers, they are counted (the sign test, McNemar's exact test). With more
    than 1,000 the mean is taken as normally distributed. Otherwise `rounds` choices are drawn and
    the observed one is added, so that the p-value is never 0. The interval is Student's t for the
    mean of the differences. ValueError: the queries differ, or there are none.

    Examples
    --------
    >>> from lpisearch.evaluation.measures import paired_test
    >>> test = paired_test({"q1": 0.5, "q2": 0.75, "q3": 1.0}, {"q1": 0.25, "q2": 0.5, "q3": 0.5})
    >>> test.queries, test.p_value
    (3, 0.25)
    """
    check_count("rounds", rounds)
    differences = _differences(first, second)
    low, high = _interval(differences)
    return PairedTest(
        difference=float(differences.mean()),
        p_value=_p_value(differences[differences != 0], rounds, generator(random_state)),
        low=low,
        high=high,
        queries=len(differences),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for multiple testing by Holm's step-down procedure.

    It controls the familywise error rate under any dependence: the least of m p-values is
    multiplied by m, the next by m - 1, …, and none becomes smaller than the one before it.

    References
    ----------
    Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).

    Examples
    --------
    >>> from lpisearch.evaluation.measures import holm
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected = [0.0] * len(p_values)
    largest = 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(1.0, p_values[number] * (len(order) - rank)))
        corrected[number] = largest
    return corrected


def _differences(first: Any, second: Any) -> Floats:
    """Pair the scores by query or by position."""
    if isinstance(first, Mapping) != isinstance(second, Mapping):
        raise ValueError("Scores must be two dictionaries or two sequences.")
    if isinstance(first, Mapping):
        if first.keys() != second.keys():
            alone = len(first.keys() ^ second.keys())
            raise ValueError(
                f"The two settings need the same queries, but {alone} are in one only."
            )
        second = [second[query] for query in first]
        first = list(first.values())
    if len(first) != len(second):
        raise ValueError(
            f"There are {len(first)} and {len(second)} scores; the numbers must be equal."
        )
    if len(first) == 0:
        raise ValueError("There are no queries to compare.")
    differences = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    if not np.isfinite(differences).all():
        raise ValueError("Some scores are not finite.")
    return differences


def _p_value(differences: Floats, rounds: int, chance: np.random.Generator) -> float:
    """Return the share of choices of signs with a sum at least as large."""
    n = len(differences)
    least = abs(differences.sum()) - _ROUNDING * np.abs(differences).sum()
    if n <= ALL_SIGNS:
        bits = np.arange(2**n)[:, np.newaxis] >> np.arange(n) & 1
        return float(np.mean(np.abs((1 - 2 * bits) @ differences) >= least))
    sizes = np.abs(differences)
    if sizes.max() - sizes.min() <= _ROUNDING * sizes.max():
        return float(stats.binomtest(int(np.count_nonzero(differences > 0)), n).pvalue)
    if n > NORMAL:
        spread = float(np.sqrt(np.sum(differences**2)))
        return float(2 * stats.norm.sf(abs(differences.sum()) / spread))
    reached, block = 0, max(1, _SIGNS // n)
    for start in range(0, rounds, block):
        bits = chance.integers(0, 2, size=(min(block, rounds - start), n), dtype=np.int8)
        reached += int(np.count_nonzero(np.abs((1 - 2 * bits) @ differences) >= least))
    return (reached + 1) / (rounds + 1)


def _interval(differences: Floats) -> tuple[float, float]:
    """Return Student's t interval of the mean."""
    n = len(differences)
    if n == 1:
        return -np.inf, np.inf
    mean, spread = float(differences.mean()), float(differences.std(ddof=1))
    reach = float(stats.t.ppf((1 + CONFIDENCE) / 2, n - 1) * spread / np.sqrt(n))
    return mean - reach, mean + reach


SIGNIFICANCE = "significance"
CLEAR = 0.05
Values = Mapping[Any, float]


@dataclass(frozen=True, eq=False, slots=True)
class Measured:
    """The values to compare."""

    measure: str
    unit: str  # "query", "document", "draw" or "subset"
    values: Sequence[Values | None]  # by row, then by unit; None for a row that is not compared


def with_differences(
    table: Table,
    measured: Measured,
    name: Callable[[Row], str],
    seed: int,
    group: Callable[[Row], Cell] = lambda _row: None,
) -> list[Table]:
    """Return the table with the p-value of each row against the best, and a table of all pairs.

    Only rows of the same group are compared; the best of each has no p-value.
    """
    groups: dict[Cell, dict[int, Values]] = {}
    for at, (row, values) in enumerate(zip(table.rows, measured.values, strict=True)):
        if values:
            groups.setdefault(group(row), {})[at] = values
    corrected: dict[int, float] = {}
    pairs: list[dict[str, Cell]] = []
    for key, own in groups.items():
        tests, against_best = _compared(own, seed)
        corrected |= against_best
        named = {at: name(table.rows[at]) for at in own}
        at_key: dict[str, Cell] = {"at": key} if len(groups) > 1 else {}
        pairs += [
            at_key | {"first": named[first], "second": named[second]} | cells
            for (first, second), cells in tests.items()
        ]
    if not pairs:
        return [table]
    rows = tuple(
        _with_p(measured.measure, row, corrected.get(at)) for at, row in enumerate(table.rows)
    )
    by_unit = f"{measured.unit} by {measured.unit}"
    what = f"{table.name.capitalize()}, {measured.measure}"
    title = f"{what}: first minus second, {by_unit}"
    method = "(paired randomisation test; p_holm: corrected for all pairs)"
    notes = _in_words(table, measured, groups, corrected, name)
    every = Table(SIGNIFICANCE, f"{title} {method}", tuple(pairs), tuple(notes))
    return [replace(table, rows=rows), every]


def _with_p(measure: str, row: Row, p: float | None) -> dict[str, Cell]:
    """Insert p directly after its measure and the standard deviation of that."""
    cells: dict[str, Cell] = {}
    for name, cell in row.items():
        if name not in {f"{measure}_sd", measure} and measure in cells:
            cells.setdefault("p", p)
        cells[name] = cell
    return cells | {"p": p}


def _compared(
    own: Mapping[int, Values], seed: int
) -> tuple[dict[tuple[int, int], dict[str, Cell]], dict[int, float]]:
    """Compare all pairs of rows; return that and the corrected p of each row against the best."""
    best = max(own, key=lambda at: fmean(own[at].values()))
    tests = {
        (first, second): paired_test(own[first], own[second], random_state=seed)
        for first, second in combinations(own, 2)
    }
    adjusted = dict(zip(tests, holm([test.p_value for test in tests.values()]), strict=True))
    cells: dict[tuple[int, int], dict[str, Cell]] = {
        pair: {
            "difference": test.difference,
            "low": test.low,
            "high": test.high,
            "p": test.p_value,
            "p_holm": adjusted[pair],
        }
        for pair, test in tests.items()
    }
    others = (at for at in own if at != best)
    return cells, {at: adjusted[min(at, best), max(at, best)] for at in others}


def _in_words(
    table: Table,
    measured: Measured,
    groups: Mapping[Cell, Mapping[int, Values]],
    corrected: Mapping[int, float],
    name: Callable[[Row], str],
) -> list[str]:
    """Name the rows that the best is not significantly better than (or explain p of groups)."""
    if len(groups) > 1:
        measure = measured.measure
        return [f"p: p-value of the difference in {measure} from the best row of the same kind."]
    (own,) = groups.values()
    best = next(at for at in own if at not in corrected)
    alike = [name(table.rows[at]) for at in own if corrected.get(at, 0) >= CLEAR]
    worse = f"but not significantly better than {quoted(alike)}" if alike else "significantly so"
    pairs = counted(len(own) * (len(own) - 1) // 2, "pair")
    test = f"paired randomisation test by {measured.unit}, Holm's correction for {pairs}"
    outcome = f"{table.name} {measured.measure}: “{name(table.rows[best])}” is best, {worse}"
    return [f"{outcome} ({test}, {CLEAR:.0%})."]

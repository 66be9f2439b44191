"""Out-of-sample placement in NumPy alone.

A rule is a function `fold(arrays, rows)`: `arrays` is what `Embedding.placement_arrays` gave,
perhaps read from disk, and `rows` are documents weighted and at unit length. It returns a place
for each row (rows x dimensions), as the estimator's `transform` does; a row without an entry has
a place of zeros. Scaling comes afterwards, as for a linear map.

The module of a rule imports NumPy alone, and only when the rule is asked for: a query waits for
it.

The terms of the factors stay; EM finds the shares P(z|d) of each document by itself, from equal
shares. The likelihood is concave in them, so that there is one best value, whatever the start.
EM alone takes hundreds of steps; leaps along its way make it several times faster.

Documents are rows. `arrays` holds

- `terms` (terms x factors): P(w|z)^β,
- `prior` (factors): P(z)^(1 - β),
- `beta` (one number): the exponent β, 1 where EM is not tempered.

The factors stay; each document x (a row) gets the parts v ≥ 0 with the least |x - U v|², found
by coordinate descent from zero. The problem is convex, with one solution where UᵀU is positive
definite. c times a document has c times its parts: the weight of a document changes its length
only, not its direction.

`arrays` holds

- `factors` (terms x factors): U,
- `gram` (factors x factors): UᵀU, in double precision.

An eigenvector of W y = λ D y has at each fitted document i the value

    y_i = (1 / λ) Σⱼ W_ij y_j / Σⱼ W_ij.

A new document gets its place by the same equation, from the fitted documents that it would name
as neighbours, with the weights that those edges would have (the Nyström step of Bengio et al.,
2004). A document in the direction of a fitted one takes that one's place.

With k(x) the kernels of a document with the fitted ones (or with the landmarks among them) and C
the coefficients (fitted documents x dimensions), the place of x is k(x) C. The kernels are
functions of the cosine.

Rules that compare with fitted documents keep these as three arrays: `lists` (where the list of
each term begins, and the end), `members` (the documents of each list) and `weights` (theirs, in
documents of unit length). NumPy alone is needed: a query waits for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.numeric.rows import Floats, Integers, SparseRows

    Rule: TypeAlias = Callable[[Mapping[str, NDArray[Any]], SparseRows], NDArray[np.floating[Any]]]


PLACEMENTS: Mapping[str, str] = {
    "plsi": "lpisearch.methods.placement:fold_plsi",
    "nmf": "lpisearch.methods.placement:fold_nmf",
    "nystrom": "lpisearch.methods.placement:fold_nystrom",
    "kernel": "lpisearch.methods.placement:fold_kernel",
}


def placement_rule(name: str) -> Rule:
    """Import the rule of that name.

    Raises
    ------
    KeyError
        If there is none.
    """
    module, function = PLACEMENTS[name].split(":")
    return cast("Rule", getattr(import_module(module), function))


# A document is done when no share moves by more than this in a step, or after so many leaps
# of three steps.
TOLERANCE = 3e-7
MAX_LEAPS = 400
# Numbers in the table of a block: what fits into the cache is several times faster.
BLOCK = 500_000


class _Block(NamedTuple):
    """Documents of like length: P(w|z)^β and the weight of each entry.

    `table` is documents x entries x factors, `weights` documents x entries.
    """

    table: Floats
    weights: Floats


def fold_plsi(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Give the shares of the factors in each document; zeros where it has no known term."""
    terms, prior, beta = arrays["terms"], arrays["prior"], arrays["beta"].item()
    shares = np.zeros((len(rows), terms.shape[1]), dtype=terms.dtype)
    for chosen, width in _blocks(np.diff(rows.indptr), terms.shape[1]):
        places = rows.indptr[chosen][:, np.newaxis] + np.arange(width)
        inside = places < rows.indptr[chosen + 1][:, np.newaxis]
        places = np.where(inside, places, 0)
        weights = np.where(inside, rows.data[places], 0).astype(terms.dtype)
        shares[chosen] = _mixed(_Block(terms[rows.indices[places]], weights), prior, beta)
    return shares


def _mixed(block: _Block, prior: Floats, beta: float) -> Floats:
    """Run EM on a block of documents, leaving out those that are done.

    After every two steps, each document leaps to where they lead; where that is less likely than
    where it stood, the leap is left out. So the likelihood never falls.
    """
    n_documents, _, n_factors = block.table.shape
    found = np.zeros((n_documents, n_factors), dtype=block.table.dtype)
    shares = np.full_like(found, 1 / n_factors)
    left, done = np.arange(n_documents), np.zeros(n_documents, dtype=bool)
    for _ in range(MAX_LEAPS):
        first, _ = _step(block, shares, prior, beta)
        second, likelihoods = _step(block, first, prior, beta)
        still = np.abs(second - first).max(axis=1) <= TOLERANCE
        # A document keeps what it had when it was done, so that it does not matter how long
        # those beside it take.
        ended = still & ~done
        found[left[ended]] = second[ended]
        done |= still
        if done.all():
            return found
        beyond, reached = _step(block, _leap(shares, first, second), prior, beta)
        shares = np.where((reached >= likelihoods)[:, np.newaxis], beyond, second)
        # Copying the table pays when it gets much smaller.
        if 2 * np.count_nonzero(done) > len(left):
            rest = ~done
            block = _Block(block.table[rest], block.weights[rest])
            left, shares, done = left[rest], shares[rest], done[rest]
    found[left[~done]] = shares[~done]
    return found


def _step(block: _Block, shares: Floats, prior: Floats, beta: float) -> tuple[Floats, Floats]:
    """Give the shares after one step of EM, and the log-likelihoods of those before it."""
    tempered = shares if beta == 1 else shares**beta * prior
    with np.errstate(invalid="ignore"):  # NumPy says so now and then of numbers that are all sound
        densities = np.matmul(block.table, tempered[:, :, np.newaxis])[:, :, 0]
    known = densities > 0
    ratios = np.divide(block.weights, densities, out=np.zeros_like(densities), where=known)
    logarithms = np.log(densities, out=np.zeros_like(densities), where=known)
    likelihoods = np.einsum("ij,ij->i", block.weights, logarithms)
    with np.errstate(invalid="ignore"):
        counts = np.matmul(ratios[:, np.newaxis], block.table)[:, 0]
    return _mixtures(tempered * counts), likelihoods


def _leap(shares: Floats, first: Floats, second: Floats) -> Floats:
    """Follow the curve through three points as far as SQUAREM does (Varadhan, Roland, 2008).

    A share falls to a hundredth at most: one that is 0 would stay so.
    """
    move, bend = first - shares, second - 2 * first + shares
    squares = np.square(move).sum(axis=1, keepdims=True)
    bends = np.square(bend).sum(axis=1, keepdims=True)
    ratio = np.divide(squares, bends, out=np.ones_like(squares), where=bends > 0)
    length = np.maximum(np.sqrt(ratio), 1)
    return _mixtures(np.maximum(shares + 2 * length * move + length**2 * bend, second / 100))


def _mixtures(counts: Floats) -> Floats:
    """Scale each row to the sum 1; a row of zeros stays."""
    totals = counts.sum(axis=1, keepdims=True)
    shares: Floats = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    return shares


def _blocks(lengths: NDArray[Any], n_factors: int) -> Iterator[tuple[NDArray[Any], int]]:
    """Give blocks of documents with the width they are filled up to.

    The width follows from the length of a document alone (four widths to each doubling), so
    that the bits of its shares do not depend on the documents beside it.
    """
    filled = np.flatnonzero(lengths)
    unit = 2 ** np.maximum(np.floor(np.log2(np.maximum(lengths[filled], 1))) - 2, 0)
    widths = (np.ceil(lengths[filled] / unit) * unit).astype(np.int64)
    for width in np.unique(widths):
        same = filled[widths == width]
        size = max(1, BLOCK // int(width * n_factors))
        for start in range(0, len(same), size):
            yield same[start : start + size], int(width)


# A document is done when a sweep moves no part by more than this share of the largest xᵀu, or
# after so many sweeps.
NMF_TOLERANCE = 1e-9
MAX_SWEEPS = 2000
# Columns that are swept together: what fits into the cache is several times faster.
COLUMNS = 2048


def fold_nmf(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Give the parts of the factors in each document; zeros where it has no known term."""
    factors, gram = arrays["factors"], np.asarray(arrays["gram"], dtype=np.float64)
    targets = rows.product(factors).astype(np.float64)
    largest = targets.max(axis=1, initial=0, keepdims=True)
    targets = np.divide(targets, largest, out=np.zeros_like(targets), where=largest > 0)
    parts = least_squares_parts(gram, np.ascontiguousarray(targets.T))
    return np.asarray((parts.T * largest).astype(factors.dtype))


def least_squares_parts(gram: Floats, targets: Floats) -> Floats:
    """Minimise vᵀ G v - 2 vᵀ t over v ≥ 0, for each column t, up to `TOLERANCE`."""
    found = np.zeros_like(targets)
    left = np.flatnonzero(targets.any(axis=0))
    targets = targets[:, left]
    parts = np.zeros_like(targets)
    for _ in range(MAX_SWEEPS):
        before = parts.copy()
        sweep(gram, targets, parts)
        moving = np.abs(parts - before).max(axis=0, initial=0) > NMF_TOLERANCE
        if moving.all():
            continue
        found[:, left[~moving]] = parts[:, ~moving]
        left, targets, parts = left[moving], targets[:, moving], parts[:, moving]
        if not len(left):
            break
    found[:, left] = parts
    return found


def sweep(gram: Floats, targets: Floats, parts: Floats) -> None:
    """Improve the parts in place, one factor after the other (HALS).

    Documents are columns here, so that the parts of one factor lie together.
    """
    for start in range(0, parts.shape[1], COLUMNS):
        target, part = (block[:, start : start + COLUMNS] for block in (targets, parts))
        part = np.ascontiguousarray(part)
        for factor in np.flatnonzero(np.diagonal(gram)):
            change = target[factor] - gram[factor] @ part
            change /= gram[factor, factor]
            change += part[factor]
            np.maximum(change, 0, out=part[factor])
        parts[:, start : start + COLUMNS] = part


# Two documents whose cosine is nearer to 1 than this are the same; rounding is far below it.
SAME = 1e-6


def fold_nystrom(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place rows of unit length.

    Parameters
    ----------
    arrays
        `places` (fitted documents x dimensions), `eigenvalues`, the fitted documents as
        `lists`, `members` and `weights`, and how edges are made: `edge_weights` (a name),
        `edge_limits` (how many neighbours at most, the cosine that they must exceed, and the
        heat scale).
    rows
        Documents.
    """
    places = np.asarray(arrays["places"])
    fitted = InvertedRows.of_arrays(arrays, len(places))
    found = np.zeros((len(rows), places.shape[1]), places.dtype)
    for place, (terms, weights) in zip(found, rows, strict=True):
        cosines = fitted.cosines(terms, weights)
        nearest = int(np.argmax(cosines))
        if cosines[nearest] > 1 - SAME:
            place[:] = places[nearest]
            continue
        near, edges = _edges(cosines, arrays)
        total = edges.sum()
        if total > 0:
            place[:] = edges @ places[near] / (total * arrays["eigenvalues"])
    return found


def _edges(
    cosines: NDArray[np.float64], arrays: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fitted documents that a new one names, and the weight of each edge."""
    most, least, heat_scale = arrays["edge_limits"].tolist()
    near = np.flatnonzero(cosines > least)
    if len(near) > most:
        at = len(near) - int(most)
        near = np.sort(near[np.argpartition(cosines[near], at)[at:]])
    edges = np.minimum(cosines[near], 1)
    name = str(arrays["edge_weights"][0])
    if name == "binary":
        edges = np.ones_like(edges)
    elif name == "heat":
        edges = np.exp((2 * edges - 2) / heat_scale)
    return near, edges


KERNELS = ("linear", "rbf", "poly")


def fold_kernel(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place rows of unit length.

    Parameters
    ----------
    arrays
        `coefficients` (fitted documents x dimensions), the fitted documents as `lists`,
        `members` and `weights`, `kernel` (a name), and `kernel_numbers` (γ, c₀ and the degree).
    rows
        Documents; one without a term has a place of zeros.
    """
    coefficients = np.asarray(arrays["coefficients"])
    fitted = InvertedRows.of_arrays(arrays, len(coefficients))
    name, numbers = str(arrays["kernel"][0]), arrays["kernel_numbers"].tolist()
    found = np.zeros((len(rows), coefficients.shape[1]), coefficients.dtype)
    for place, (terms, weights) in zip(found, rows, strict=True):
        if weights.any():
            values = kernel(fitted.cosines(terms, weights), name, *numbers)
            np.matmul(values.astype(coefficients.dtype), coefficients, out=place)
    return found


def kernel(cosines: Any, name: str, gamma: float, constant: float, degree: float) -> Any:
    """Return the kernels of documents from their cosines, array or block.

    "linear" is the cosine, "poly" (γ cosine + c₀)^degree, and "rbf" exp(-γ |x - z|²), whose
    squared distance between unit rows is 2 - 2 cosine.
    """
    if name == "linear":
        return cosines
    if name == "poly":
        return (gamma * cosines + constant) ** int(degree)
    return np.exp(-gamma * (2 - 2 * cosines))


# So many entries of lists are added up at once; more, list by list.
MOST_ENTRIES = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class InvertedRows:
    """Documents as lists, one for each term."""

    lists: Integers
    members: Integers
    weights: Floats
    n_documents: int

    @classmethod
    def of_rows(cls, rows: SparseRows) -> InvertedRows:
        """Turn rows into lists; the documents of a list ascend."""
        order = np.argsort(rows.indices, kind="stable")
        lists = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=rows.n_terms))])
        members = rows.row_numbers[order].astype(np.int32)
        return cls(lists.astype(np.int64), members, rows.data[order], len(rows))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_documents: int) -> InvertedRows:
        """Take what `arrays` gave, perhaps read from disk."""
        lists, members, weights = (np.asarray(arrays[name]) for name in _NAMES)
        return cls(lists, members, weights, n_documents)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return dict(zip(_NAMES, (self.lists, self.members, self.weights), strict=True))

    def cosines(self, terms: Integers, weights: Floats) -> NDArray[np.float64]:
        """Return the cosine of one document of unit length with each of these.

        Summed in double precision: an equal document is told from a very near one.
        """
        starts = self.lists[terms]
        sizes = self.lists[terms + 1] - starts
        if sizes.sum() <= MOST_ENTRIES:
            return self._added(starts, sizes, weights)
        found = np.zeros(self.n_documents)  # the same, a list at a time
        for start, size, weight in zip(starts.tolist(), sizes.tolist(), weights, strict=True):
            members = self.members[start : start + size]
            found[members] += np.float64(weight) * self.weights[start : start + size]
        return found

    def _added(self, starts: Integers, sizes: Integers, weights: Floats) -> NDArray[np.float64]:
        """Add up some lists, each times its weight, all at once."""
        before = np.cumsum(sizes) - sizes
        at = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        parts = np.repeat(weights.astype(np.float64), sizes) * self.weights[at]
        found = np.bincount(self.members[at], parts, minlength=self.n_documents)
        return found.astype(np.float64, copy=False)  # of no entry at all it counts in integers


_NAMES = ("lists", "members", "weights")

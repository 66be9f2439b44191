"""Out-of-sample placement: the rules of embeddings, in NumPy alone.

A rule is a function of `arrays`, which `Embedding.placement_arrays` returned (perhaps read from
disk), and of `rows`, weighted documents at unit length. It returns rows x dimensions, as the
`transform` of the estimator does; a row without an entry has a place of zeros. A query waits for
this module, so it does not import SciPy.
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
    "gnmf": "lpisearch.methods.placement:fold_gnmf",
    "nystrom": "lpisearch.methods.placement:fold_nystrom",
    "kernel": "lpisearch.methods.placement:fold_kernel",
    "landmarks": "lpisearch.methods.placement:fold_landmarks",
}


def placement_rule(name: str) -> Rule:
    """Return the rule of that name, or raise KeyError."""
    module, function = PLACEMENTS[name].split(":")
    return cast("Rule", getattr(import_module(module), function))


# A document is done when no share moves by more than this in a step, or after MAX_LEAPS leaps of
# three steps.
TOLERANCE = 3e-7
MAX_LEAPS = 400
# Size of the table of a block that fits into the cache: several times faster.
BLOCK = 500_000


class _Block(NamedTuple):
    """Documents of similar length: P(w|z)^β (documents x entries x factors), and weights."""

    table: Floats
    weights: Floats


def fold_plsi(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Return P(z|d) of each document: EM from equal shares with fixed factors; zeros if empty.

    `arrays` has `terms` (terms x factors), P(w|z)^β; `prior`, P(z)^(1 - β); and `beta`, 1 if EM is
    not tempered. The likelihood is concave in the shares, so there is one best value. EM alone
    takes hundreds of steps; leaps along its path make it several times faster.
    """
    terms, prior, beta = arrays["terms"], arrays["prior"], arrays["beta"].item()
    shares = np.zeros((len(rows), terms.shape[1]), dtype=terms.dtype)
    for chosen, width in _blocks(np.diff(rows.indptr), terms.shape[1]):
        entries = rows.indptr[chosen][:, np.newaxis] + np.arange(width)
        inside = entries < rows.indptr[chosen + 1][:, np.newaxis]
        entries = np.where(inside, entries, 0)
        weights = np.where(inside, rows.data[entries], 0).astype(terms.dtype)
        shares[chosen] = _mixed(_Block(terms[rows.indices[entries]], weights), prior, beta)
    return shares


def _mixed(block: _Block, prior: Floats, beta: float) -> Floats:
    """Run EM on a block of documents, dropping those that are done.

    After every two steps, each document leaps in their direction, unless that is less likely: the
    likelihood never falls.
    """
    n_documents, _, n_factors = block.table.shape
    result = np.zeros((n_documents, n_factors), dtype=block.table.dtype)
    shares = np.full_like(result, 1 / n_factors)
    active, done = np.arange(n_documents), np.zeros(n_documents, dtype=bool)
    for _ in range(MAX_LEAPS):
        first, _ = _step(block, shares, prior, beta)
        second, likelihoods = _step(block, first, prior, beta)
        still = np.abs(second - first).max(axis=1) <= TOLERANCE
        # The result of a document is fixed once it is done, so it does not depend on others.
        ended = still & ~done
        result[active[ended]] = second[ended]
        done |= still
        if done.all():
            return result
        beyond, reached = _step(block, _leap(shares, first, second), prior, beta)
        shares = np.where((reached >= likelihoods)[:, np.newaxis], beyond, second)
        # Copying the table pays when it gets much smaller.
        if 2 * np.count_nonzero(done) > len(active):
            rest = ~done
            block = _Block(block.table[rest], block.weights[rest])
            active, shares, done = active[rest], shares[rest], done[rest]
    result[active[~done]] = shares[~done]
    return result


def _step(block: _Block, shares: Floats, prior: Floats, beta: float) -> tuple[Floats, Floats]:
    """Return the shares after one step of EM, and the log-likelihoods before it."""
    tempered = shares if beta == 1 else shares**beta * prior
    with np.errstate(invalid="ignore"):  # NumPy sometimes warns about valid numbers
        densities = np.matmul(block.table, tempered[:, :, np.newaxis])[:, :, 0]
    known = densities > 0
    ratios = np.divide(block.weights, densities, out=np.zeros_like(densities), where=known)
    logarithms = np.log(densities, out=np.zeros_like(densities), where=known)
    likelihoods = np.einsum("ij,ij->i", block.weights, logarithms)
    with np.errstate(invalid="ignore"):
        counts = np.matmul(ratios[:, np.newaxis], block.table)[:, 0]
    return _mixtures(tempered * counts), likelihoods


def _leap(shares: Floats, first: Floats, second: Floats) -> Floats:
    """Extrapolate three points as SQUAREM does (Varadhan, Roland, 2008).

    A share falls to a hundredth at most, because a share of 0 would stay 0.
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
    """Yield blocks of documents, each with the width to which they are padded.

    The width depends on the length of a document alone (four widths per doubling), so the bits of
    its shares do not depend on other documents.
    """
    filled = np.flatnonzero(lengths)
    unit = 2 ** np.maximum(np.floor(np.log2(np.maximum(lengths[filled], 1))) - 2, 0)
    widths = (np.ceil(lengths[filled] / unit) * unit).astype(np.int64)
    for width in np.unique(widths):
        same = filled[widths == width]
        size = max(1, BLOCK // int(width * n_factors))
        for start in range(0, len(same), size):
            yield same[start : start + size], int(width)


# A document is done when a sweep moves no part by more than this share of the largest xᵀu, or after
# MAX_SWEEPS sweeps.
NMF_TOLERANCE = 1e-9
MAX_SWEEPS = 2000
# Columns to sweep together so that they fit into the cache: several times faster.
COLUMNS = 2048


def fold_nmf(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Return the parts v ≥ 0 with the least |x - U v|² of each document; zeros if it is empty.

    `arrays` has `factors` (terms x factors), U, and `gram`, UᵀU in double precision. The problem is
    convex, with one solution if UᵀU is positive definite; coordinate descent starts from zero.
    Scaling a document scales its parts.
    """
    factors, gram = arrays["factors"], np.asarray(arrays["gram"], dtype=np.float64)
    targets = rows.product(factors).astype(np.float64)
    largest = targets.max(axis=1, initial=0, keepdims=True)
    targets = np.divide(targets, largest, out=np.zeros_like(targets), where=largest > 0)
    parts = least_squares_parts(gram, np.ascontiguousarray(targets.T))
    return np.asarray((parts.T * largest).astype(factors.dtype))


def least_squares_parts(gram: Floats, targets: Floats) -> Floats:
    """Minimise vᵀ G v - 2 vᵀ t over v ≥ 0 for each column t."""
    result = np.zeros_like(targets)
    active = np.flatnonzero(targets.any(axis=0))
    targets = targets[:, active]
    parts = np.zeros_like(targets)
    for _ in range(MAX_SWEEPS):
        before = parts.copy()
        sweep(gram, targets, parts)
        moving = np.abs(parts - before).max(axis=0, initial=0) > NMF_TOLERANCE
        if moving.all():
            continue
        result[:, active[~moving]] = parts[:, ~moving]
        active, targets, parts = active[moving], targets[:, moving], parts[:, moving]
        if not len(active):
            break
    result[:, active] = parts
    return result


def sweep(gram: Floats, targets: Floats, parts: Floats) -> None:
    """Improve the parts in place, one factor after the other (HALS); documents are columns here."""
    for start in range(0, parts.shape[1], COLUMNS):
        target, part = (block[:, start : start + COLUMNS] for block in (targets, parts))
        part = np.ascontiguousarray(part)
        for factor in np.flatnonzero(np.diagonal(gram)):
            change = target[factor] - gram[factor] @ part
            change /= gram[factor, factor]
            change += part[factor]
            np.maximum(change, 0, out=part[factor])
        parts[:, start : start + COLUMNS] = part


# Documents with a cosine within this of 1 are the same; rounding is far below it.
SAME = 1e-6


def fold_nystrom(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place documents by a Nyström step (Bengio et al., 2004).

    An eigenvector of W y = λ D y has y_i = (1 / λ) Σⱼ W_ij y_j / Σⱼ W_ij at each fitted document. A
    new document is placed by the same equation, from its neighbours among the fitted documents. One
    in the direction of a fitted document gets the same place.

    `arrays` has `places` (fitted documents x dimensions), `eigenvalues`, the fitted documents as
    `InvertedRows`, `edge_weights` (a name) and `edge_limits` (largest number of neighbours, the
    cosine that they must exceed, and the heat scale).
    """
    fitted_places = np.asarray(arrays["places"])
    fitted = InvertedRows.of_arrays(arrays, len(fitted_places))
    places = np.zeros((len(rows), fitted_places.shape[1]), fitted_places.dtype)
    for place, (terms, weights) in zip(places, rows, strict=True):
        cosines = fitted.cosines(terms, weights)
        nearest = int(np.argmax(cosines))
        if cosines[nearest] > 1 - SAME:
            place[:] = fitted_places[nearest]
            continue
        near, edges = _edges(cosines, arrays)
        total = edges.sum()
        if total > 0:
            place[:] = edges @ fitted_places[near] / (total * arrays["eigenvalues"])
    return places


def _edges(
    cosines: NDArray[np.float64], arrays: Mapping[str, NDArray[Any]]
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Return the fitted neighbours of a new document, and the weight of each edge."""
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


def average_duplicates(places: Floats, rows: SparseRows) -> Floats:
    """Replace the places of documents in the same direction by their mean."""
    places = places.copy()
    for group in _same_directions(rows):
        places[group] = places[group].mean(axis=0)
    return places


def _same_directions(rows: SparseRows) -> Iterator[NDArray[np.intp]]:
    """Yield groups of documents that differ in length only.

    Only documents with the same terms can, so few are compared.
    """
    groups: dict[bytes, list[int]] = {}
    entries = list(rows)
    orders = [np.argsort(terms) for terms, _ in entries]
    for number, ((terms, _), order) in enumerate(zip(entries, orders, strict=True)):
        if len(terms):
            groups.setdefault(terms[order].tobytes(), []).append(number)
    for numbers in groups.values():
        rest = np.array(numbers)
        weights = np.array([entries[row][1][orders[row]] for row in numbers], np.float64)
        while len(rest) > 1:
            same = weights @ weights[0] > 1 - SAME
            same[0] = True
            if np.count_nonzero(same) > 1:
                yield rest[same]
            rest, weights = rest[~same], weights[~same]


def fold_gnmf(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Return the parts v ≥ 0 with the least |x - U v|² + λ Σ w(x, i) |v - v_i|² of each document.

    The sum is over its neighbours among the fitted documents. One in the direction of a fitted
    document gets the same place; one without a known term, zeros.

    `arrays` has those of `fold_nmf`, `places` (documents x factors), the fitted documents as
    `InvertedRows`, `graph_weight` (λ), and the edges as `fold_nystrom`.
    """
    fitted_places, weight = np.asarray(arrays["places"]), arrays["graph_weight"].item()
    fitted = InvertedRows.of_arrays(arrays, len(fitted_places))
    targets = rows.product(np.asarray(arrays["factors"])).astype(np.float64)
    gram = np.asarray(arrays["gram"], dtype=np.float64)
    places = np.zeros((len(rows), len(gram)), fitted_places.dtype)
    for place, target, (terms, weights) in zip(places, targets, rows, strict=True):
        cosines = fitted.cosines(terms, weights)
        nearest = int(np.argmax(cosines))
        if cosines[nearest] > 1 - SAME:
            place[:] = fitted_places[nearest]
        elif len(terms):
            near, edges = _edges(cosines, arrays)
            pulled = target + weight * (edges @ fitted_places[near])
            pulls = gram + weight * edges.sum() * np.eye(len(gram))
            place[:] = least_squares_parts(pulls, pulled[:, np.newaxis])[:, 0]
    return places


KERNELS = ("linear", "rbf", "poly")


def fold_kernel(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place documents at k(x) C, with k(x) the kernels of a document with the fitted ones.

    `arrays` has the `coefficients` C (fitted documents or landmarks x dimensions), those documents
    as `InvertedRows`, `kernel` (a name), and `kernel_numbers` (γ, c₀ and the degree).
    """
    coefficients = np.asarray(arrays["coefficients"])
    fitted = InvertedRows.of_arrays(arrays, len(coefficients))
    name, numbers = str(arrays["kernel"][0]), arrays["kernel_numbers"].tolist()
    places = np.zeros((len(rows), coefficients.shape[1]), coefficients.dtype)
    for place, (terms, weights) in zip(places, rows, strict=True):
        if weights.any():
            values = kernel(fitted.cosines(terms, weights), name, *numbers)
            np.matmul(values.astype(coefficients.dtype), coefficients, out=place)
    return places


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


# Cosines that agree to so many digits are ties: the earlier landmark wins.
DIGITS = 9


def fold_landmarks(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place documents at z C, with z the weights of a document for its landmarks.

    `arrays` has the `coefficients` C (landmarks x dimensions), the landmarks as `InvertedRows`, and
    `landmark_limits` (how many are near, and γ).
    """
    coefficients = np.asarray(arrays["coefficients"])
    places = np.zeros((len(rows), coefficients.shape[1]), coefficients.dtype)
    found = landmark_weights(arrays, rows, len(coefficients))
    for place, (near, weights) in zip(places, found, strict=True):
        place[:] = weights @ coefficients[near]
    return places


def landmark_weights(
    arrays: Mapping[str, NDArray[Any]], rows: SparseRows, count: int
) -> Iterator[tuple[NDArray[np.intp], Floats]]:
    """Yield the nearest landmarks of each document, and their weights, which sum to 1."""
    landmarks = InvertedRows.of_arrays(arrays, count)
    most, gamma = arrays["landmark_limits"].tolist()
    for terms, own in rows:
        cosines = np.round(landmarks.cosines(terms, own), DIGITS)
        near = np.argsort(-cosines, kind="stable")[: int(most)]
        near = near[cosines[near] > 0]
        weights = kernel(cosines[near], "rbf", gamma, 0, 1)
        yield near, weights / weights.sum()


# Up to so many entries are added at once; more, list by list.
MOST_ENTRIES = 2**20


@dataclass(frozen=True, eq=False, slots=True)
class InvertedRows:
    """An inverted index of fitted documents.

    `lists` has the bounds of the list of each term, `members` the documents of each list, and
    `weights` their weights in documents of unit length.
    """

    lists: Integers
    members: Integers
    weights: Floats
    n_documents: int

    @classmethod
    def of_rows(cls, rows: SparseRows) -> InvertedRows:
        """Invert rows; the documents of each list ascend."""
        order = np.argsort(rows.indices, kind="stable")
        lists = np.concatenate([[0], np.cumsum(np.bincount(rows.indices, minlength=rows.n_terms))])
        members = rows.row_numbers[order].astype(np.int32)
        return cls(lists.astype(np.int64), members, rows.data[order], len(rows))

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, NDArray[Any]], n_documents: int) -> InvertedRows:
        """Take the arrays of `arrays`, perhaps read from disk."""
        lists, members, weights = (np.asarray(arrays[name]) for name in _NAMES)
        return cls(lists, members, weights, n_documents)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return dict(zip(_NAMES, (self.lists, self.members, self.weights), strict=True))

    def cosines(self, terms: Integers, weights: Floats) -> NDArray[np.float64]:
        """Return the cosine of a document of unit length with each of these.

        Double precision distinguishes an equal document from a very near one.
        """
        starts = self.lists[terms]
        sizes = self.lists[terms + 1] - starts
        if sizes.sum() <= MOST_ENTRIES:
            return self._added(starts, sizes, weights)
        cosines = np.zeros(self.n_documents)  # the same, a list at a time
        for start, size, weight in zip(starts.tolist(), sizes.tolist(), weights, strict=True):
            members = self.members[start : start + size]
            cosines[members] += np.float64(weight) * self.weights[start : start + size]
        return cosines

    def _added(self, starts: Integers, sizes: Integers, weights: Floats) -> NDArray[np.float64]:
        """Add some lists, each times its weight, all at once."""
        before = np.cumsum(sizes) - sizes
        at = np.repeat(starts - before, sizes) + np.arange(sizes.sum())
        parts = np.repeat(weights.astype(np.float64), sizes) * self.weights[at]
        cosines = np.bincount(self.members[at], parts, minlength=self.n_documents)
        return cosines.astype(np.float64, copy=False)  # without entries, bincount gives integers


_NAMES = ("lists", "members", "weights")

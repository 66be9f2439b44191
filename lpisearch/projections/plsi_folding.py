"""Folding documents into the factors of PLSI, in NumPy alone.

The terms of the factors stay; EM finds the shares P(z|d) of each document by itself, from equal
shares. The likelihood is concave in them, so that there is one best value, whatever the start.
EM alone takes hundreds of steps; leaps along its way make it several times faster.

Documents are rows. `arrays` holds

- `terms` (terms x factors): P(w|z)^β,
- `prior` (factors): P(z)^(1 - β),
- `beta` (one number): the exponent β, 1 where EM is not tempered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import SparseRows

    Floats = NDArray[np.floating[Any]]

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


def fold(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
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

"""Folding documents into the factors of PLSI, in NumPy alone.

The terms of the factors stay; EM finds the shares P(z|d) of each document by itself, from equal
shares. The likelihood is concave in them, so that there is one best value, whatever the start.

Documents are rows. `arrays` holds

- `terms` (terms x factors): P(w|z)^β,
- `prior` (factors): P(z)^(1 - β),
- `beta` (one number): the exponent β, 1 where EM is not tempered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import SparseRows

    Floats = NDArray[np.floating[Any]]

# A document is done when no share moves by more than this in a step, or after so many steps.
TOLERANCE = 1e-6
MAX_STEPS = 1000
# Numbers in the table of a block: what fits into the cache is several times faster.
BLOCK = 500_000


def fold(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Give the shares of the factors in each document; zeros where it has no known term."""
    terms, prior, beta = arrays["terms"], arrays["prior"], arrays["beta"].item()
    shares = np.zeros((len(rows), terms.shape[1]), dtype=terms.dtype)
    for chosen, width in _blocks(np.diff(rows.indptr), terms.shape[1]):
        places = rows.indptr[chosen][:, np.newaxis] + np.arange(width)
        inside = places < rows.indptr[chosen + 1][:, np.newaxis]
        places = np.where(inside, places, 0)
        weights = np.where(inside, rows.data[places], 0).astype(terms.dtype)
        shares[chosen] = _mixed(terms[rows.indices[places]], weights, prior, beta)
    return shares


def _mixed(table: Floats, weights: Floats, prior: Floats, beta: float) -> Floats:
    """Run EM on a block of documents, leaving out those that are done.

    `table` is documents x entries x factors, `weights` documents x entries.
    """
    n_documents, _, n_factors = table.shape
    found = np.zeros((n_documents, n_factors), dtype=table.dtype)
    shares = np.full_like(found, 1 / n_factors)
    left, done = np.arange(n_documents), np.zeros(n_documents, dtype=bool)
    for _ in range(MAX_STEPS):
        improved = step(table, weights, shares, prior, beta)
        still = np.abs(improved - shares).max(axis=1) <= TOLERANCE
        # A document keeps what it had when it was done, so that it does not matter how long
        # those beside it take.
        ended = still & ~done
        found[left[ended]] = improved[ended]
        done |= still
        shares = improved
        if done.all():
            return found
        # Copying the table pays when it gets much smaller.
        if 2 * np.count_nonzero(done) > len(left):
            rest = ~done
            left, table, weights, shares = (part[rest] for part in (left, table, weights, shares))
            done = done[rest]
    found[left[~done]] = shares[~done]
    return found


def step(table: Floats, weights: Floats, shares: Floats, prior: Floats, beta: float) -> Floats:
    """Give the shares after one step of EM."""
    tempered = shares if beta == 1 else shares**beta * prior
    densities = np.matmul(table, tempered[:, :, np.newaxis])[:, :, 0]
    ratios = np.divide(weights, densities, out=np.zeros_like(weights), where=densities > 0)
    counts = tempered * np.matmul(ratios[:, np.newaxis], table)[:, 0]
    totals = counts.sum(axis=1, keepdims=True)
    improved: Floats = np.divide(counts, totals, out=np.zeros_like(counts), where=totals > 0)
    return improved


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

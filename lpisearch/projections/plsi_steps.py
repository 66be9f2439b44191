"""The steps of tempered EM for PLSI, on sparse documents.

Documents are rows of X, a csr_array of counts or other positive weights x. With
A = P(z)^(1 - β) P(z|d)^β and B = P(w|z)^β, the E-step gives the weights of the factors

    P(z|d,w) = A_dz B_wz / Σ_z A_dz B_wz

and the M-step sums x P(z|d,w) over terms, documents or both. Neither is ever written out: with
S = x / Σ_z A_dz B_wz the sums are A ∘ (S B) and
B ∘ (Sᵀ A).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.compute.threads import map_threads
from lpisearch.projections.blocks import product

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats

# Numbers of a block of entries x factors: what fits into the cache is several times faster.
BLOCK = 1_000_000


class Factors(NamedTuple):
    """The parameters of PLSI.

    Attributes
    ----------
    shares
        P(z|d), documents x factors.
    terms
        P(w|z), terms x factors.
    prior
        P(z).
    """

    shares: Floats
    terms: Floats
    prior: Floats

    def tempered(self, beta: float) -> tuple[Floats, Floats]:
        """Give A and B."""
        if beta == 1:
            return self.shares, self.terms
        return self.shares**beta * self.prior ** (1 - beta), self.terms**beta


class Observed(NamedTuple):
    """Documents as entries: the document, the term and the weight of each.

    Attributes
    ----------
    X
        The documents as rows.
    rows
        The row of each entry.
    """

    X: sparse.csr_array
    rows: NDArray[np.integer]

    @classmethod
    def of(cls, X: sparse.csr_array) -> Observed:
        """Take the documents."""
        return cls(X, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)))

    @property
    def total(self) -> float:
        """The sum of all weights."""
        return float(self.X.data.sum(dtype=np.float64))


def random_factors(X: sparse.csr_array, n_factors: int, rng: np.random.Generator) -> Factors:
    """Begin with equal shares and random terms, whatever the order of the documents."""
    shares = np.full((X.shape[0], n_factors), 1 / n_factors, dtype=X.dtype)
    terms = rng.random((X.shape[1], n_factors)).astype(X.dtype)
    return Factors(shares, _divided(terms, terms.sum(axis=0)), shares[0])


def em_step(seen: Observed, factors: Factors, beta: float) -> tuple[Factors, float]:
    """Give better factors, and the objective Σ x log Σ_z A_dz B_wz of those that came in.

    At β = 1 that is the log-likelihood of the terms, given the documents. It never falls.
    """
    A, B = factors.tempered(beta)
    densities = mixtures(seen, A, B)
    S = sparse.csr_array(
        (_divided(seen.X.data, densities), seen.X.indices, seen.X.indptr), shape=seen.X.shape
    )
    by_document = A * product(S, B)
    by_term = B * np.asarray(S.T @ A)
    by_factor = by_document.sum(axis=0)
    improved = Factors(
        _without_dust(_divided(by_document, by_document.sum(axis=1, keepdims=True))),
        _without_dust(_divided(by_term, by_term.sum(axis=0))),
        by_factor / by_factor.sum(),
    )
    return improved, log_likelihood(seen, densities)


def mixtures(seen: Observed, A: Floats, B: Floats) -> Floats:
    """Give Σ_z A_dz B_wz for each entry (d, w), some entries at a time."""
    size = max(1, BLOCK // A.shape[1])
    out = np.empty(len(seen.rows), dtype=A.dtype)

    def part(start: int) -> None:
        some = slice(start, start + size)
        # The indices are known to be good. To check them, the default, takes half of the time.
        left = A.take(seen.rows[some], axis=0, mode="clip")
        right = B.take(seen.X.indices[some], axis=0, mode="clip")
        np.einsum("ij,ij->i", left, right, out=out[some])

    map_threads(part, range(0, len(out), size))
    return out


def log_likelihood(seen: Observed, densities: Floats) -> float:
    """Give Σ x log p; minus infinity where something is held to be impossible."""
    if not densities.all():
        return -np.inf
    return float(np.dot(seen.X.data.astype(np.float64), np.log(densities, dtype=np.float64)))


def log_perplexity(seen: Observed, factors: Factors) -> float:
    """Give -Σ x log P(w|d) / Σ x; 0 if there is nothing to foretell."""
    if not seen.X.nnz:
        return 0.0
    densities = mixtures(seen, factors.shares, factors.terms)
    return -log_likelihood(seen, densities) / seen.total


def split(
    X: sparse.csr_array, share: float, rng: np.random.Generator
) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Hold out a share of the entries: give those that are kept, and the others.

    Weights need not be counts, so an entry is held out as a whole. The first entry of each
    document and of each term is kept: nothing could be said of it otherwise.
    """
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    order = rng.permutation(X.nnz)
    first = np.zeros(X.nnz, dtype=bool)
    for names in (rows, X.indices):
        first[order[np.unique(names[order], return_index=True)[1]]] = True
    held = (rng.random(X.nnz) < share) & ~first
    return _chosen(X, rows, ~held), _chosen(X, rows, held)


def _chosen(X: sparse.csr_array, rows: NDArray[np.integer], chosen: NDArray[np.bool_]) -> Any:
    entries = (X.data[chosen], (rows[chosen], X.indices[chosen]))
    return sparse.csr_array(entries, shape=X.shape)


def _divided(over: Floats, under: Floats) -> Floats:
    """Divide; 0 where the divisor is."""
    under = np.broadcast_to(under, over.shape)
    return np.divide(over, under, out=np.zeros_like(over), where=under > 0)


def _without_dust(shares: Floats) -> Floats:
    """Set to 0 what is so small that its square is no normal number: that is slow to reckon."""
    shares[shares < np.sqrt(np.finfo(shares.dtype).tiny)] = 0
    return shares

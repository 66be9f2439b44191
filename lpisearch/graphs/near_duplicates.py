"""Groups of near-duplicates: documents whose cosine with an earlier one, their leader, is high.

In go documents as sparse rows of X at unit length, out comes a number for each. In the order of
the rows, a document joins the group of a leader with a cosine of at least ½, or leads a group of
its own. The time is linear in the documents: pairs come from short lists.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.compute.rows import unit_rows
from lpisearch.graphs.lists import first_entries, strongest_entries

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.graphs.affinity import Floats

LEAST_COSINE = 0.5
# Near documents share strong terms, and a term's earliest documents are the ones that may lead.
STRONGEST_TERMS = 10
LIST_LENGTH = 64
# The cosine of the strongest terms alone under which a pair is not looked at any further.
LEAST_CANDIDATE_COSINE = 0.25
PASSES = 3
_BLOCK = 4096


def near_duplicate_groups(
    X: sparse.csr_array, least_cosine: float = LEAST_COSINE
) -> NDArray[np.intp]:
    """Return the group of each document, numbered in the order of their leaders.

    A document without a term is a group of its own. Where a list is too short to hold the leader
    of a large group, more than one document leads it at first; further passes over the leaders
    alone join these, and then a document can be a little farther from its leader.
    """
    leaders = np.arange(X.shape[0])
    standing = leaders
    for _ in range(PASSES):
        joined = _join(X[standing], least_cosine)
        if np.array_equal(joined, np.arange(len(standing))):
            break
        new_leader = leaders.copy()
        new_leader[standing] = standing[joined]
        leaders = new_leader[leaders]
        standing = np.unique(standing[joined])
    return np.asarray(np.unique(leaders, return_inverse=True)[1])


def _join(X: sparse.csr_array, least_cosine: float) -> NDArray[np.intp]:
    """Give each document the nearest earlier one that leads and is near, or itself."""
    later, earlier, cosines = _near_pairs(X, least_cosine)
    order = np.lexsort((-cosines, later))
    joined = np.arange(X.shape[0])
    leads = np.ones(X.shape[0], np.bool_)
    for document, other in zip(later[order].tolist(), earlier[order].tolist(), strict=True):
        if leads[other] and leads[document]:
            leads[document] = False
            joined[document] = other
    return joined


def _near_pairs(
    X: sparse.csr_array, least_cosine: float
) -> tuple[NDArray[np.integer[Any]], NDArray[np.integer[Any]], Floats]:
    """Find pairs, the later document first, with their cosines."""
    strongest = sparse.csr_array(unit_rows(strongest_entries(X, STRONGEST_TERMS)))
    lists = first_entries(sparse.csr_array(strongest.T), LIST_LENGTH)
    nothing = np.empty(0, np.intp)
    found = [(nothing, nothing, np.empty(0, X.dtype))]
    for start in range(0, X.shape[0], _BLOCK):
        candidates = sparse.coo_array(strongest[start : start + _BLOCK] @ lists)
        later, earlier = candidates.row + start, candidates.col
        chosen = (candidates.data >= LEAST_CANDIDATE_COSINE) & (earlier < later)
        later, earlier = later[chosen].astype(np.intp), earlier[chosen].astype(np.intp)
        cosines = X[later].multiply(X[earlier]).sum(axis=1)
        near = cosines >= least_cosine
        found.append((later[near], earlier[near], cosines[near]))
    later, earlier = (np.concatenate([part[side] for part in found]) for side in (0, 1))
    return later, earlier, np.concatenate([part[2] for part in found])

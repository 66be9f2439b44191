"""How well two groupings of the same documents agree, from the table that counts them.

A table has the groups of one as rows, those of the other as columns, and in each cell how many
documents are in both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.number[Any]]


def purity(table: Numbers) -> float:
    """Give the share of documents in the commonest column of their row."""
    return float((table / table.sum()).max(axis=1).sum())


def normalised_information(table: Numbers) -> float:
    """Give the mutual information over the larger of the entropies; 1 where both are 0."""
    joint = table / table.sum()
    entropies = _entropy(joint.sum(axis=0)), _entropy(joint.sum(axis=1))
    if max(entropies) == 0:
        return 1.0
    shared = sum(entropies) - _entropy(joint.ravel())
    return float(np.clip(shared / max(entropies), 0, 1))


def _entropy(shares: Numbers) -> float:
    """Give the entropy in bits of shares that sum to 1."""
    there = shares[shares > 0]
    return float(-there @ np.log2(there)) if len(there) > 1 else 0.0

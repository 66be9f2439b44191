"""Choose the training documents that are held out to measure classifiers.

Near-duplicates of a document are held out with it: judged by copies of what it has learned, the
classifier that remembers would seem the best, and all would seem surer than they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.classifiers.limits import LIMITS
from lpisearch.graphs.near_duplicates import near_duplicate_groups

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.classifiers.classifier import Members
    from lpisearch.classifiers.limits import TrainingLimits

    Rows = NDArray[np.integer[Any]]

FOLDS = 5
ALL_FOLDS_UP_TO = 2000


class Fold(NamedTuple):
    """Rows that are learned from, and rows that are judged."""

    seen: Rows
    judged: Rows


def held_out_folds(
    X: csr_array, members: Members, seed: int, limits: TrainingLimits = LIMITS
) -> list[Fold]:
    """Cut documents into fifths by whole groups; of more than 2,000, hold out one part only.

    Classes are in proportion, by the first document of each group. A part is left out if what
    remains would have fewer than two classes.
    """
    rng = np.random.default_rng(seed)
    count = len(members.sizes)
    sample = np.sort(rng.permutation(count)[: limits.judged + limits.seen])
    groups = _split_single_groups(near_duplicate_groups(X[sample]), members.of(sample))
    firsts = np.unique(groups, return_index=True)[1]
    first_classes = members.classes[members.starts[sample[firsts]]]
    order = rng.permutation(len(firsts))
    by_class = order[np.argsort(first_classes[order], kind="stable")]
    parts = FOLDS
    if count > ALL_FOLDS_UP_TO:
        parts = max(FOLDS, -(-len(sample) // limits.judged))
    part_of_group = np.empty(len(firsts), np.intp)
    part_of_group[by_class] = np.arange(len(firsts)) % parts
    judged_parts = range(parts) if count <= ALL_FOLDS_UP_TO else range(1)
    part_of_row = part_of_group[groups]
    folds = [
        Fold(sample[part_of_row != part], sample[part_of_row == part]) for part in judged_parts
    ]
    return [fold for fold in folds if len(fold.judged) and _n_classes(members, fold.seen) > 1]


def _split_single_groups(groups: Rows, members: Members) -> Rows:
    """Take the only group of a class apart: held out as a whole it would leave nothing of it."""
    rows = np.repeat(np.arange(len(groups)), members.sizes)
    pairs = np.unique(np.stack([members.classes, groups[rows]]), axis=1)
    single = np.bincount(pairs[0]) == 1
    apart = np.unique(rows[single[members.classes]])
    split = groups.copy()
    split[apart] = groups.max(initial=0) + 1 + np.arange(len(apart))
    return np.asarray(np.unique(split, return_inverse=True)[1])


def _n_classes(members: Members, rows: Rows) -> int:
    return len(np.unique(members.of(rows).classes))

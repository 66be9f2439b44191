"""Random choices that the papers repeat: classes to cluster, documents to learn from."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.evaluation.measures.labelling import Labelling, as_names
from lpisearch.projections.base import check_count, generator

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from lpisearch.evaluation.measures.labelling import Labels

    Whole = NDArray[np.integer[Any]]

_MANY = 4


def draw_classes(
    labels: Labels, n_classes: int, draws: int, random_state: Any = 0
) -> list[NDArray[Any]]:
    """Draw sets of classes, each set at most once.

    Parameters
    ----------
    labels
        One for each document, or a list of them.
    n_classes
        How many classes a set has.
    draws
        How many sets are drawn. If there are fewer different ones, each comes once.
    random_state
        Of the draws.

    Returns
    -------
    list of arrays
        The names of the classes of each draw, in order.

    Raises
    ------
    ValueError
        If there are fewer classes than a set should have.

    Examples
    --------
    >>> from lpisearch.evaluation import draw_classes
    >>> sets = draw_classes(["a", "b", "c", "a"], 2, 3)
    >>> sorted(classes.tolist() for classes in sets)
    [['a', 'b'], ['a', 'c'], ['b', 'c']]
    """
    check_count("n_classes", n_classes)
    check_count("draws", draws)
    names = as_names(Labelling.of(labels).names)
    if len(names) < n_classes:
        raise ValueError(f"{n_classes} classes cannot be drawn: the labels have {len(names)}.")
    chance = generator(random_state)
    if math.comb(len(names), n_classes) <= _MANY * draws:
        every = list(itertools.combinations(range(len(names)), n_classes))
        drawn = [every[number] for number in chance.permutation(len(every))[:draws]]
    else:
        found: dict[tuple[int, ...], None] = {}
        while len(found) < draws:
            one = np.sort(chance.choice(len(names), n_classes, replace=False))
            found[tuple(one.tolist())] = None
        drawn = list(found)
    return [names[list(one)] for one in drawn]


def split_by_share(labels: Labels, share: float, random_state: Any = 0) -> tuple[Whole, Whole]:
    """Part documents into those to learn from and those to test on, class by class.

    Of a class with two documents or more, `share` (rounded) is for training, but at least one
    document, and at least one is left for testing. The only document of a class is for training:
    nothing could predict its label without it. A document with several labels counts for the
    rarest of them. Documents without a label are in neither part.

    Parameters
    ----------
    labels
        One for each document, or a list of them.
    share
        Of each class, above 0 and below 1.
    random_state
        Of the choice.

    Returns
    -------
    train_rows, test_rows : arrays
        Rows of documents, ascending.

    Raises
    ------
    ValueError
        If `share` is not between 0 and 1, or no document has a label.

    Examples
    --------
    >>> from lpisearch.evaluation import split_by_share
    >>> train, test = split_by_share(["a", "a", "a", "a", "b", None], 0.5)
    >>> len(train), len(test), 4 in train, 5 in test
    (3, 2, True, False)
    """
    if not 0 < share < 1:
        raise ValueError(f"The share for training must be above 0 and below 1, not {share}.")
    known, chance = Labelling.of(labels), generator(random_state)
    classes = _rarest(known)
    train = []
    for number in np.unique(classes):
        rows = known.rows[classes == number]
        count = max(1, min(math.floor(share * len(rows) + 0.5), len(rows) - 1))
        train.append(chance.permutation(rows)[:count])
    chosen = np.sort(np.concatenate(train))
    return chosen, np.setdiff1d(known.rows, chosen)


def _rarest(known: Labelling) -> Whole:
    """Give one class for each document: of several the rarest, of equally rare ones the first."""
    if known.numbers is not None:
        return known.numbers
    sizes = np.bincount(known.flags.indices, minlength=len(known.names))
    order = np.argsort(sizes, kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return np.asarray(order[np.minimum.reduceat(place[known.flags.indices],
                                                known.flags.indptr[:-1])])  # fmt: skip

"""Training splits, drawn classes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import NothingToEvaluate
from lpisearch.evaluation.label_measures import Labelling, as_names
from lpisearch.messages import Message, call, counted, have, some
from lpisearch.methods.base import check_count, generator
from lpisearch.options import CategoriesOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.collection import Collection
    from lpisearch.evaluation.label_measures import Labels

    Whole = NDArray[np.integer[Any]]


TRAIN, TEST = "train", "test"
FIELD, AUTO = "field", "auto"
USUAL_SHARE, USUAL_REPEATS = 0.5, 5
_DRAWN = call("evaluate", "classify", wanted=CategoriesOptions(train=(USUAL_SHARE,)))


class Split(NamedTuple):
    """Which documents (rows) are learned from, and which are judged.

    Attributes
    ----------
    train
        "field", or the share of the documents that are learned from.
    draw
        The number of the draw from 0.
    seen, unseen
        Rows.
    """

    train: str | float
    draw: int
    seen: NDArray[np.integer[Any]]
    unseen: NDArray[np.integer[Any]]


def make_splits(collection: Collection, wanted: CategoriesOptions, seed: int) -> Iterator[Split]:
    """Part the documents: by the field `split`, or by draws of the shares that are asked for.

    Raises
    ------
    NothingToEvaluate
        A side is empty, or has a single class.
    """
    by_field = wanted.split == FIELD
    stated = {TRAIN, TEST} <= set(collection.splits)
    if by_field or (wanted.split == AUTO and stated and not wanted.train):
        yield _field_split(collection)
        return

    labels = [list(own) for own in collection.labels]
    shares = wanted.train or (USUAL_SHARE,)
    repeats = wanted.repeats if wanted.train else min(wanted.repeats, USUAL_REPEATS)
    for share in shares:
        for draw in range(repeats):
            seen, unseen = split_by_share(labels, share, random_state=seed + draw)
            if not len(unseen):
                raise NothingToEvaluate(
                    "No class has more than one document, so there is nothing to test on.",
                    Message("add more documents: ", call("ingest", "PATH")),
                )
            yield Split(share, draw, seen, unseen)


def split_notes(collection: Collection, splits: Sequence[Split]) -> list[str]:
    """Say which classes nobody could have learned."""
    unknown: set[str] = set()
    for split in splits:
        unknown |= _names(collection, split.unseen) - _names(collection, split.seen)
    if not unknown:
        return []
    number = have(len(unknown), "class", "classes")
    return [f"{number} no training document (counted as errors): {some(sorted(unknown))}."]


def percent(share: str | float) -> str:
    """Give a share as people write it: 5%, 0.5%."""
    return f"{100 * share:g}%" if isinstance(share, float) else share


def described(splits: Sequence[Split]) -> str:
    """Say in one line how documents were split."""
    first = splits[0]
    if first.train == FIELD:
        return f"{len(first.seen):,} training documents, {len(first.unseen):,} test documents"
    shares = list(dict.fromkeys(split.train for split in splits))
    draws = len(splits) // len(shares)
    listed = ", ".join(f"{percent(share)}" for share in shares)
    return f"trained on {listed} of the documents, {counted(draws, 'draw')}"


def _names(collection: Collection, rows: NDArray[np.integer[Any]]) -> set[str]:
    return {name for row in rows.tolist() for name in collection.labels[row]}


def _field_split(collection: Collection) -> Split:
    splits = np.array(collection.splits)
    seen, unseen = np.flatnonzero(splits == TRAIN), np.flatnonzero(splits == TEST)
    for name, rows in ((TRAIN, seen), (TEST, unseen)):
        if not len(rows):
            raise NothingToEvaluate(
                f"None of these documents is in the split “{name}”.",
                Message("use a random split instead: ", _DRAWN),
            )
    if len(_names(collection, seen)) < 2:  # noqa: PLR2004 (to tell apart takes two)
        raise NothingToEvaluate(
            "The split “train” contains only one class.",
            Message("use a random split instead: ", _DRAWN),
        )
    return Split(FIELD, 0, seen, unseen)


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
    >>> from lpisearch.evaluation.splits import draw_classes
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
    >>> from lpisearch.evaluation.splits import split_by_share
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

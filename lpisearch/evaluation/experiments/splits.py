"""Train/test splits: from a document field, or random."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from lpisearch.errors import NothingToEvaluate
from lpisearch.messages import Message, call
from lpisearch.settings import CategoriesOptions
from lpisearch.wording import counted, have, some

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.experiments.collection import Collection

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
    from lpisearch.evaluation import split_by_share

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

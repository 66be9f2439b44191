"""Parts of a collection: training and test documents, sets of classes, documents with a word."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import sparse

from lpisearch.errors import BadOption, NothingToEvaluate
from lpisearch.evaluation.measures import Labelling, as_names
from lpisearch.messages import Message, Option, call, counted, have, quoted, some
from lpisearch.methods.base import check_count, generator
from lpisearch.options import CategoriesOptions, SimilarityOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.evaluation.collection import Collection
    from lpisearch.evaluation.measures import Labels

    Whole = NDArray[np.integer[Any]]


TRAIN, TEST = "train", "test"
FIELD, AUTO = "field", "auto"
USUAL_SHARE, USUAL_REPEATS = 0.5, 5
_DRAWN = call("evaluate", "classify", wanted=CategoriesOptions(train=(USUAL_SHARE,)))


class Split(NamedTuple):
    """A split into training documents (`seen`) and test documents (`unseen`)."""

    train: str | float  # "field", or the share of training documents
    draw: int  # from 0
    seen: Whole
    unseen: Whole


def make_splits(collection: Collection, wanted: CategoriesOptions, seed: int) -> Iterator[Split]:
    """Split by the field `split` or by random draws; raise NothingToEvaluate if a side is empty."""
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
    """Name the classes without training documents."""
    unknown: set[str] = set()
    for split in splits:
        unknown |= _names(collection, split.unseen) - _names(collection, split.seen)
    if not unknown:
        return []
    number = have(len(unknown), "class", "classes")
    return [f"{number} no training document (counted as errors): {some(sorted(unknown))}."]


def percent(share: str | float) -> str:
    """Format a share: 5%, 0.5%."""
    return f"{100 * share:g}%" if isinstance(share, float) else share


def described(splits: Sequence[Split]) -> str:
    """Describe the splits in one line."""
    first = splits[0]
    if first.train == FIELD:
        return f"{len(first.seen):,} training documents, {len(first.unseen):,} test documents"
    shares = list(dict.fromkeys(split.train for split in splits))
    draws = len(splits) // len(shares)
    listed = ", ".join(f"{percent(share)}" for share in shares)
    return f"trained on {listed} of the documents, {counted(draws, 'draw')}"


def _names(collection: Collection, rows: Whole) -> set[str]:
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
    """Draw different sets of classes; if there are fewer than `draws`, all of them.

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
        chosen: dict[tuple[int, ...], None] = {}
        while len(chosen) < draws:
            one = np.sort(chance.choice(len(names), n_classes, replace=False))
            chosen[tuple(one.tolist())] = None
        drawn = list(chosen)
    return [names[list(one)] for one in drawn]


def split_by_share(labels: Labels, share: float, random_state: Any = 0) -> tuple[Whole, Whole]:
    """Return the rows of training and test documents, ascending, stratified by class.

    Of a class with two or more documents, `share` (rounded) is for training, with at least one on
    each side. The only document of a class is for training, since its label could not be predicted
    without it. A document with several labels counts for the rarest of them. Unlabelled documents
    are on neither side.

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
    """Return the rarest class of each document; of equally rare ones the first."""
    if known.numbers is not None:
        return known.numbers
    sizes = np.bincount(known.flags.indices, minlength=len(known.names))
    order = np.argsort(sizes, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    rarest = np.minimum.reduceat(rank[known.flags.indices], known.flags.indptr[:-1])
    return np.asarray(order[rarest])


def word_subsets(
    collection: Collection, wanted: SimilarityOptions
) -> tuple[list[tuple[str, Collection]], list[str]]:
    """Return the documents that contain each word, and the words that do not test anything."""
    named = _columns_of(collection, wanted.words) if wanted.words else _frequent(collection, wanted)
    rows = term_subsets(collection.counts, [column for _, column in named], least=0)
    subsets, alike = [], []
    for word, column in named:
        subset = collection.of(rows[column])
        if has_pairs(subset) and len({name for own in subset.labels for name in own}) > 1:
            subsets.append((word, subset))
        else:
            alike.append(word)
    if not subsets:
        raise NothingToEvaluate(
            "None of these words occurs in documents of two classes.",
            Message("choose other words: ", Option("words")),
        )
    return subsets, alike


def has_pairs(collection: Collection) -> bool:
    """Return whether two documents share a label."""
    names = [name for own in collection.labels for name in own]
    return len(set(names)) < len(names)


def _columns_of(collection: Collection, words: Sequence[str]) -> list[tuple[str, int]]:
    if collection.terms:
        stems = _stems(collection, words)
        columns = {term: column for column, term in enumerate(collection.terms)}
        known = {word: columns.get(stems[word], columns.get(word)) for word in words}
    else:
        n_terms = collection.counts.shape[1]
        known = {
            word: int(word) if word.isdecimal() and int(word) < n_terms else None for word in words
        }
    unknown = [word for word, column in known.items() if column is None]
    if unknown:
        raise BadOption("words", f"no labelled document contains {quoted(unknown)}")
    return [(word, column) for word, column in known.items() if column is not None]


def _stems(collection: Collection, words: Sequence[str]) -> Mapping[str, str]:
    from lpisearch.text.tokeniser import Tokeniser

    tokeniser = Tokeniser(collection.tokeniser)
    return {word: " ".join(tokeniser.tokens(word)) for word in words}


def _frequent(collection: Collection, wanted: SimilarityOptions) -> list[tuple[str, int]]:
    number = wanted.most_frequent or 1
    least, most = wanted.subset_size
    best = frequent_terms(collection.counts, number, least, most)
    if not best:
        raise NothingToEvaluate(
            f"No word occurs in {least:,} to {most:,} labelled documents.",
            Message("choose other bounds: ", Option("subset_size", (50, 500))),
        )
    return [
        (collection.terms[column] if collection.terms else str(column), column) for column in best
    ]


def term_subsets(counts: Any, columns: Sequence[int], least: int = 2) -> dict[int, Whole]:
    """Return, for each column, the rows of its documents if there are at least `least`.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation.splits import term_subsets
    >>> counts = csr_array([[1, 0, 2], [0, 0, 1], [3, 1, 0]])
    >>> {column: rows.tolist() for column, rows in term_subsets(counts, [2, 1, 0]).items()}
    {2: [0, 1], 0: [0, 2]}
    """
    counts = sparse.csc_array(counts)
    beyond = [column for column in columns if not 0 <= column < counts.shape[1]]
    if beyond:
        raise ValueError(f"There is no column {beyond[0]}: there are {counts.shape[1]} terms.")
    subsets = {}
    for column in columns:
        part = slice(counts.indptr[column], counts.indptr[column + 1])
        rows = np.unique(counts.indices[part][counts.data[part] != 0])
        if len(rows) >= least:
            subsets[int(column)] = rows
    return subsets


def frequent_terms(counts: Any, number: int, least: int = 2, most: int | None = None) -> list[int]:
    """Return up to `number` columns of the most frequent terms, in `least` to `most` documents.

    The most frequent come first; of equally frequent ones, the first column.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation.splits import frequent_terms
    >>> counts = csr_array([[1, 0, 2, 1], [0, 0, 1, 1], [3, 1, 0, 1]])
    >>> frequent_terms(counts, 2, most=2)
    [0, 2]
    """
    check_count("number", number)
    counts = sparse.csr_array(counts)
    frequency = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    highest = counts.shape[0] if most is None else most
    within = np.flatnonzero((frequency >= max(least, 1)) & (frequency <= highest))
    ranked: list[int] = within[np.argsort(-frequency[within], kind="stable")][:number].tolist()
    return ranked

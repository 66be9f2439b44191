"""Train the classifiers that `lpisearch index` stores for `lpisearch classify`.

In goes the weighted matrix of the library (documents as ROWS; the papers write them as columns)
with labels and splits; out come arrays for the index. No database and no files.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.classifiers.classifier import Members
from lpisearch.classifiers.fitting import fit_classifiers
from lpisearch.classifiers.limits import LIMITS
from lpisearch.errors import BadOption

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Sequence
    from contextlib import AbstractContextManager

    from numpy.typing import NDArray
    from scipy.sparse import csr_array

    from lpisearch.classifiers.limits import TrainingLimits
    from lpisearch.settings import IndexSpec

    Arrays = dict[str, NDArray[Any]]

ALL, NONE, AUTO = "all", "none", "auto"
LEAST_DOCUMENTS = 2
"""A class with fewer is left out: nothing could be held out to calibrate it."""


@dataclass(frozen=True, slots=True)
class Learned:
    """A classifier: its arrays for the index, and what is to be said of it.

    Attributes
    ----------
    arrays
        Empty where none could be learned.
    facts
        None without labels; {"reason": …} where the labels do not do; else labels, documents,
        left_out (classes with too few documents), and those of `fit_classifiers`.
    """

    arrays: Arrays
    facts: dict[str, Any] | None


def check_train(train: str, splits: Collection[str]) -> None:
    """Refuse a split that no document is in.

    Raises
    ------
    BadOption
    """
    if train not in {AUTO, ALL, NONE, *splits}:
        known = sorted(set(splits) - {""})
        raise BadOption(
            "train", f"no document is in the split “{train}”", [AUTO, ALL, NONE, *known]
        )


def learn_classifier(
    X: csr_array,
    labels: Sequence[Sequence[str]],
    splits: Sequence[str],
    options: IndexSpec,
    stage: Callable[[str], AbstractContextManager[None]],
    *,
    limits: TrainingLimits = LIMITS,
) -> Learned:
    """Learn to tell the labels apart, and calibrate on documents that were held out.

    Parameters
    ----------
    X
        Weighted documents at unit length.
    labels, splits
        Of each document.
    options
        `train` says which documents to learn from, `seed` settles every random choice.
    stage
        Times and announces a stage of the work by its name.
    limits
        How much to learn from.
    """
    if options.train == NONE or not any(labels):
        return Learned({}, None)
    with stage("training classifiers"):
        chosen = _training_documents(X, labels, splits, options, limits)
        if isinstance(chosen, str):
            return Learned({}, {"reason": chosen})
        try:
            classifier, facts = fit_classifiers(
                X[chosen.rows], chosen.members, chosen.names, options.seed, limits
            )
        except ValueError as error:  # such as labels that always come together
            return Learned({}, {"reason": f"the labels cannot be distinguished ({error})"})
    facts |= {
        "labels": len(chosen.names),
        "documents": len(chosen.rows),
        "left_out": chosen.left_out,
    }
    return Learned(classifier.arrays(), facts)


@dataclass(frozen=True, slots=True)
class _Training:
    rows: NDArray[np.int64]
    names: list[str]
    members: Members
    left_out: int


def _training_documents(
    X: csr_array,
    labels: Sequence[Sequence[str]],
    splits: Sequence[str],
    options: IndexSpec,
    limits: TrainingLimits,
) -> _Training | str:
    """Choose documents and classes, or say why there are none to learn from."""
    wanted = options.train
    if wanted == AUTO:
        wanted = "train" if _has_labelled(labels, splits, "train") else ALL
    words = np.diff(X.indptr) > 0
    rows = [
        row for row, own in enumerate(labels) if own and words[row] and wanted in {ALL, splits[row]}
    ]
    sizes = Counter(name for row in rows for name in labels[row])
    usable = [name for name, size in sizes.items() if size >= LEAST_DOCUMENTS]
    if len(usable) < 2:  # noqa: PLR2004 (to tell apart takes two)
        return _too_few(sizes)
    largest = sorted(usable, key=lambda name: (-sizes[name], name))[: limits.classes]
    numbers = {name: number for number, name in enumerate(sorted(largest))}
    rows = [row for row in rows if any(map(numbers.__contains__, labels[row]))]
    rows = _sample(rows, limits.most(len(numbers)), options.seed)
    own_classes = [[numbers[name] for name in labels[row] if name in numbers] for row in rows]
    starts = np.cumsum([0, *map(len, own_classes)], dtype=np.int64)
    classes = np.array([one for own in own_classes for one in own], np.int32)
    members = Members(starts, classes)
    return _Training(np.array(rows, np.int64), list(numbers), members, len(sizes) - len(numbers))


def _has_labelled(labels: Sequence[Sequence[str]], splits: Sequence[str], split: str) -> bool:
    return any(own and each == split for own, each in zip(labels, splits, strict=True))


def _too_few(sizes: Counter[str]) -> str:
    if not sizes:
        return "that split contains no labelled document with known words"
    if len(sizes) == 1:
        return f"all labelled documents have the same label, “{next(iter(sizes))}”"
    return f"fewer than two of the {len(sizes)} labels have {LEAST_DOCUMENTS} documents or more"


def _sample(rows: list[int], most: int, seed: int) -> list[int]:
    if len(rows) <= most:
        return rows
    rng = np.random.default_rng(seed)
    return sorted(rng.choice(rows, most, replace=False).tolist())

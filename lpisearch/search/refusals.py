"""Validate search options and labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, IndexNotFound
from lpisearch.indexes.scoring.engine import WAYS
from lpisearch.messages import Message, call
from lpisearch.settings import SORTS
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Callable

    from lpisearch.records import Filter
    from lpisearch.search.view import View
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot


def refuse_words_alone(view: View, options: SearchOptions) -> None:
    """Refuse to answer by words where the index alone was to answer, and there is none.

    A question may hold phrases, which can be found without an index; a batch and a document hold
    nothing but what the index would have to place.

    Raises
    ------
    IndexNotFound, IndexDamaged, IndexTooNew, IndexOutdated
    """
    if options.by != "semantic" or view.engine is not None:
        return
    raise view.reading.trouble or IndexNotFound(options.index, ())


def check_options(options: SearchOptions) -> None:
    """Refuse options that cannot work.

    Raises
    ------
    BadOption
    """
    if options.by not in WAYS:
        hint = nearest(options.by, WAYS)
        raise BadOption("by", f"unknown value “{options.by}”{hint}", WAYS)
    if options.sort not in SORTS:
        hint = nearest(options.sort, SORTS)
        raise BadOption("sort", f"unknown sort order “{options.sort}”{hint}", SORTS)
    if options.k < 0:
        raise BadOption("k", f"must be 0 or more, not {options.k}")
    if options.offset < 0:
        raise BadOption("offset", f"must be 0 or more, not {options.offset}")
    weight = options.semantic_weight
    if weight is not None and not 0 <= weight < float("inf"):
        raise BadOption("semantic_weight", f"must be 0 or more, not {weight}")


def _anew(_name: str, counts: Callable[[], dict[str, int]]) -> dict[str, int]:
    return counts()


def check_labels(
    snapshot: Snapshot,
    where: Filter,
    remember: Callable[[str, Callable[[], dict[str, int]]], dict[str, int]] = _anew,
) -> None:
    """Refuse a label that no document has, and say which are near; `remember` knows the counts.

    Raises
    ------
    BadOption
    """
    labels = snapshot.labels
    for option, names, counts, said in (
        ("label", where.labels, labels.counts, "no document has the label"),
        (
            *("predicted", where.predicted, labels.predicted_counts),
            "no document has the predicted label",
        ),
    ):
        known = remember(f"every {option}", counts) if names else {}
        for label in names:
            if label not in known:
                error = BadOption(option, f"{said} “{label}”{nearest(label, known, 3)}")
                error.next_step = Message(call("status"), "  (lists the labels)")
                raise error

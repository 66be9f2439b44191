"""Notes of an answer; validation of options."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption, IndexNotFound
from lpisearch.messages import Message, Option, call, nearest, quoted
from lpisearch.options import SORTS
from lpisearch.search.engine import WAYS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.index.snapshot import Reading
    from lpisearch.model.answers import Suggestion
    from lpisearch.model.documents import Filter
    from lpisearch.options import SearchOptions
    from lpisearch.search.query import Request
    from lpisearch.search.searcher import View
    from lpisearch.storage.store import ReadTransaction


CHANGED = Message(
    "Some documents changed after the index was built and were skipped. Next: ", call("index")
)
_SHOWN_WORDS = 5
_SHOWN_QUERIES = 5


def unheard(_note: str) -> None:
    """Pass over a note: for those who say by themselves what is to be known."""


def why_no_index(reading: Reading) -> str:
    """Say why words alone answer, or ""."""
    if reading.opened is not None:
        return ""
    if reading.trouble is None:
        return Message("No index yet; searching by words only. Next: ", call("index"))
    return Message(
        reading.trouble.what, " Searching by words only. Next: ", reading.trouble.next_step
    )


def about_words(request: Request, by: str) -> str:
    """Say of which words nothing is known, or ""."""
    if not request.tokens and not request.unknown:
        return "" if request.phrases else "The query has no words to search for"
    if request.unknown:
        return about_unknown(request.unknown)
    if by == "semantic" and request.question and not request.question.has_place:
        return Message(
            "These words are too rare to search by meaning; try ", Option("by", "lexical")
        )
    return ""


def about_unknown(suggestions: Sequence[Suggestion]) -> str:
    """Say which words no document has."""
    unknown = [_in_no_document(each) for each in suggestions]
    more = f" and {len(unknown) - _SHOWN_WORDS} more" if len(unknown) > _SHOWN_WORDS else ""
    return f"Not in any document: {', '.join(unknown[:_SHOWN_WORDS])}{more}"


def why_none(snapshot: ReadTransaction, options: SearchOptions) -> str:
    """Say why an answer has no hits, where the filters leave no document; or ""."""
    from lpisearch.model.documents import Filter, as_conditions, read_conditions

    where = options.where
    if where == Filter() or snapshot.corpus.count_and_sum(where)[0]:
        return ""
    asked = list(as_conditions(where))
    alone = [replace(read_conditions([each]), here=where.here) for each in asked]
    empty = [
        words
        for words, one in zip(asked, alone, strict=True)
        if not snapshot.corpus.count_and_sum(one)[0]
    ]
    return Message(f"No documents match {quoted(empty or asked)}. Next: ", call("entries"))


def about_queries(said: Sequence[tuple[str, str]], number: int) -> Iterator[str]:
    """Say of the queries of a batch what is to be known of each: of a few, and how many there are.

    Parameters
    ----------
    said
        The name of each query of which something is to be said, and what.
    number
        Of all queries.
    """
    for name, remark in said[:_SHOWN_QUERIES]:
        yield Message(f"Query {name}: ", remark)
    if len(said) > _SHOWN_QUERIES:
        yield f"Queries with notes: {len(said):,} of {number:,}"


def _in_no_document(suggestion: Suggestion) -> str:
    meant = f" (did you mean “{suggestion.nearest[0]}”?)" if suggestion.nearest else ""
    return f"“{suggestion.word}”{meant}"


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
    snapshot: ReadTransaction,
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

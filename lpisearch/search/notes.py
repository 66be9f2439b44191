"""Notes shown with search results."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.messages import Message, Option, call
from lpisearch.wording import quoted

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.indexes.opening import Reading
    from lpisearch.records import Suggestion
    from lpisearch.search.request import Request
    from lpisearch.settings import SearchOptions
    from lpisearch.storage import Snapshot

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


def why_none(snapshot: Snapshot, options: SearchOptions) -> str:
    """Say why an answer has no hits, where the filters leave no document; or ""."""
    from lpisearch.records import Filter
    from lpisearch.settings.conditions import as_conditions, read_conditions

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

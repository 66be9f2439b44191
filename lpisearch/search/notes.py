"""Notes of an answer, and the checks of its options."""

from __future__ import annotations

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.index.directory import rebuild_command
from lpisearch.messages import Message, Option, call, nearest, quoted
from lpisearch.model.document_filter import Filter, conditions_of
from lpisearch.options import RANKING_MODES, SORTS, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.model.answers import Suggestion
    from lpisearch.search.query import Query
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.store import ReadTransaction


CHANGED = Message(
    "Some documents changed after the index was built and were skipped. Next: ", call("index")
)
_SHOWN_WORDS = 5
_SHOWN_QUERIES = 5
_TRIED_CONDITIONS = 10  # each reads all documents


def ignore_note(_note: str) -> None:
    """Ignore a note."""


def why_no_index(snapshot: Snapshot) -> str:
    """Say why the answer is by words only, or ""."""
    if snapshot.engine is not None:
        return ""
    trouble = snapshot.trouble
    if trouble is None:
        return Message("No index yet; searching by words only. Next: ", call("index"))
    return Message(trouble.what, " Searching by words only. Next: ", trouble.next_step)


def out_of_date(snapshot: Snapshot) -> str:
    """Say that documents were added or removed since the index was updated, or "".

    The number of documents and the sum of their keys are compared. A document whose content changed
    keeps its key: it is noticed when it is found.
    """
    if snapshot.engine is None:
        return ""
    index = snapshot.engine.index
    spec = index.manifest.spec
    count = partial(snapshot.transaction.documents.count_and_sum, spec.where)
    if snapshot.remember(f"count {spec.where}", count) == snapshot.engine.covered:
        return ""
    text = "The index is out of date: documents were added or removed. Next: "
    return Message(text, rebuild_command(spec))


def about_correction(query: Query) -> str:
    """Say that a correction was searched for, and how to search for what was typed, or ""."""
    if not query.misspelt:
        return ""
    shown = f"Showing results for “{query.text}”; to search instead for “{query.misspelt}”, use "
    return Message(shown, Option("literal"))


def about_words(query: Query, snapshot: Snapshot, by: str) -> str:
    """Name the words that find nothing, or ""."""
    if not query.tokens and not query.unknown:
        return "" if query.phrases or query.occurrences else "The query has no words to search for"
    unknown = [one for one in query.unknown if not query.misspelt or one.word in query.text]
    if unknown:
        return about_unknown(unknown)
    if by == "semantic" and snapshot.engine is not None and not query.has_vector:
        return Message(
            "These words are too rare to search by meaning; try ", Option("by", "lexical")
        )
    return ""


def about_unknown(suggestions: Sequence[Suggestion]) -> str:
    """Name the words that are in no document."""
    unknown = [
        f"“{one.word}”" + (f" (did you mean “{one.nearest[0]}”?)" if one.nearest else "")
        for one in suggestions
    ]
    more = f" and {len(unknown) - _SHOWN_WORDS} more" if len(unknown) > _SHOWN_WORDS else ""
    return f"Not in any document: {', '.join(unknown[:_SHOWN_WORDS])}{more}"


def why_none(transaction: ReadTransaction, where: Filter) -> str:
    """Say which filters leave no document, or ""."""
    if where == Filter() or transaction.documents.count_and_sum(where)[0]:
        return ""
    named = list(islice(conditions_of(where), _TRIED_CONDITIONS))
    empty = [text for text, alone in named if not transaction.documents.count_and_sum(alone)[0]]
    texts = quoted(empty or [text for text, _ in named])
    return Message(f"No documents match {texts}. Next: ", call("entries"))


def about_queries(remarks: Sequence[tuple[str, str]], number: int) -> Iterator[str]:
    """Yield the remarks on the first named queries of a batch, and how many of all have one."""
    for name, remark in remarks[:_SHOWN_QUERIES]:
        yield Message(f"Query {name}: ", remark)
    if len(remarks) > _SHOWN_QUERIES:
        yield f"Queries with notes: {len(remarks):,} of {number:,}"


def check_options(options: SearchOptions) -> None:
    """Refuse options that cannot work: `BadOption`."""
    if options.by not in RANKING_MODES:
        hint = nearest(options.by, RANKING_MODES)
        raise BadOption("by", f"unknown value “{options.by}”{hint}", RANKING_MODES)
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


def check_labels(where: Filter, snapshot: Snapshot) -> None:
    """Refuse a label that no document has, and suggest labels: `BadOption`."""
    labels = snapshot.transaction.labels
    for option, names, counts, text in (
        ("label", where.labels, labels.counts, "no document has the label"),
        (
            *("predicted", where.predicted, labels.predicted_counts),
            "no document has the predicted label",
        ),
    ):
        known = snapshot.remember(f"every {option}", counts) if names else {}
        for label in names:
            if label not in known:
                error = BadOption(option, f"{text} “{label}”{nearest(label, known, 3)}")
                error.next_step = Message(call("status"), "  (lists the labels)")
                raise error

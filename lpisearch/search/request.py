"""A parsed query, resolved against a library and its index."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from lpisearch.records import Suggestion
from lpisearch.search.demands import Words, demanded
from lpisearch.search.expansion import asked_of, expand
from lpisearch.search.parsing import parse_plain, parse_query
from lpisearch.search.suggestions import suggest
from lpisearch.search.word_sources import LibraryWords
from lpisearch.terms.phrases import WrittenPhrase

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from lpisearch.indexes.scoring.question import Question
    from lpisearch.records import Filter
    from lpisearch.search.expansion import WordSource
    from lpisearch.search.parsing import ParsedQuery
    from lpisearch.search.view import View


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """What is looked for.

    Attributes
    ----------
    tokens
        Its words.
    question
        The same for the index; None without one.
    allowed
        Keys of the documents that may be found; None for all.
    left_out
        Keys of those that may not.
    feedback
        Whether the documents that are found first may move the question towards them.
    in_table
        What the full-text table is asked for, if not the tokens.
    phrases, occurrences
        What was quoted, and how often it stands in each document.
    counts
        How much each term counts in the subspace.
    unknown_tokens, unknown
        Terms that are in no document; the words, and what may have been meant.
    notes
        What is to be said of the query.
    """

    tokens: tuple[str, ...]
    question: Question | None = None
    allowed: AbstractSet[int] | None = None
    left_out: frozenset[int] = frozenset()
    feedback: bool = True
    in_table: tuple[str, ...] | None = None
    phrases: tuple[WrittenPhrase, ...] = ()
    occurrences: Mapping[int, int] = field(default_factory=dict)
    counts: Mapping[str, float] = field(default_factory=dict)
    unknown_tokens: tuple[str, ...] = ()
    unknown: tuple[Suggestion, ...] = ()
    notes: tuple[str, ...] = ()


def request_of(view: View, text: str, where: Filter) -> Request:
    """Take a query apart: the terms it stands for, and the documents that meet its demands.

    Raises
    ------
    BadOption
        A date of the filter is none.
    """
    parsed = parse_query(text, view.tokeniser)
    of_library = LibraryWords(view.reading, view.tokeniser)
    request, words = _terms_of(view, text, parsed, of_library)

    def spellings(token: str) -> tuple[str, ...]:
        typed = parsed.typed.get(token, "")
        return words.words(token).spelled_like(token, typed)

    def beginning(prefix: str) -> tuple[str, ...]:
        return words.words(prefix).beginning_with(prefix)

    meant = Words(view.tokeniser, spellings, beginning)
    found = demanded(view.reading, where, parsed, meant)
    unknown = _as_typed(request.unknown_tokens, parsed, text)
    return replace(
        request,
        allowed=found.rows,
        phrases=_written(parsed),
        occurrences=found.occurrences,
        unknown=suggest(view.snapshot, view.tokeniser, words, unknown),
        notes=(*request.notes, *found.notes),
    )


def words_of(view: View, text: str) -> Request:
    """Take a query apart as far as its words and phrases go: nothing is said of what it finds."""
    parsed = parse_query(text, view.tokeniser)
    request, _ = _terms_of(view, text, parsed, LibraryWords(view.reading, view.tokeniser))
    return replace(request, phrases=_written(parsed))


def plain_request_of(view: View, text: str) -> Request:
    """Take prose for a query: quotes, stars and minus signs in it ask for nothing."""
    parsed = parse_plain(text, view.tokeniser)
    of_library = LibraryWords(view.reading, view.tokeniser)
    request, _ = _terms_of(view, text, parsed, of_library, plain=True)
    unknown = _as_typed(request.unknown_tokens, parsed, text)
    return replace(request, unknown=tuple(Suggestion(word, ()) for word in unknown))


def _written(parsed: ParsedQuery) -> tuple[WrittenPhrase, ...]:
    """Return the phrases that stand somewhere in a text as they are written."""
    shown = (phrase for phrase in parsed.phrases if phrase.written and not phrase.in_title)
    return tuple(WrittenPhrase(phrase.written) for phrase in shown)


def _as_typed(tokens: Iterable[str], parsed: ParsedQuery, text: str) -> list[str]:
    """Return what was typed for tokens: words, and pairs of characters joined where they were."""
    found: list[str] = []
    for token in tokens:
        word = parsed.typed.get(token, token)
        before = found[-1] if found else ""
        joined = before + word[1:]
        if before and before[-1:] == word[:1] and joined in text:
            found[-1] = joined
        else:
            found.append(word)
    return found


def _terms_of(
    view: View, text: str, parsed: ParsedQuery, of_library: LibraryWords, *, plain: bool = False
) -> tuple[Request, WordSource]:
    """Find the terms of a query; return what is asked for, and where the library's words are."""
    engine = view.engine
    if engine is None:
        expanded = expand(parsed, of_library)
        request = Request(expanded.terms, in_table=expanded.in_table)
        return replace(request, unknown_tokens=expanded.unknown, notes=expanded.notes), of_library
    source = view.words.of(engine, view.index_tokeniser)
    is_current = view.index_tokeniser is view.tokeniser
    parse = parse_plain if plain else parse_query
    expanded = expand(parsed if is_current else parse(text, view.index_tokeniser), source)
    request = Request(
        expanded.terms if is_current else parsed.tokens,
        asked_of(engine, expanded),
        in_table=expanded.in_table,
        counts=expanded.counts(),
        unknown_tokens=expanded.unknown,
        notes=expanded.notes,
    )
    return request, source if is_current else of_library

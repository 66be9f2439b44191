"""A query, and what the library and its index know of its words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.search.suggestions import suggest
from lpisearch.terms.phrases import WrittenPhrase

if TYPE_CHECKING:
    from lpisearch.records import Suggestion
    from lpisearch.search.expansion import Expanded, WordSource
    from lpisearch.search.parsing import ParsedQuery
    from lpisearch.search.question import Question
    from lpisearch.storage import Snapshot
    from lpisearch.terms.tokeniser import Tokeniser


@dataclass(frozen=True, eq=False, slots=True)
class Asked:
    """A query, and what is known of its words.

    Attributes
    ----------
    parsed
        What it says.
    expanded
        The terms it stands for: of the index, if there is one.
    question
        The same in numbers of the index; None without one.
    source, library_words
        Where words of the index, and of the library, are looked up.
    """

    parsed: ParsedQuery
    expanded: Expanded
    question: Question | None
    source: WordSource
    library_words: WordSource

    @property
    def tokens(self) -> tuple[str, ...]:
        """All terms that are looked for, as the library has them."""
        return self.expanded.terms if self.source is self.library_words else self.parsed.tokens

    @property
    def phrases(self) -> tuple[WrittenPhrase, ...]:
        """What must stand in the text as it is written."""
        written = (phrase.written for phrase in self.parsed.phrases if phrase.written)
        return tuple(map(WrittenPhrase, written))

    def spellings(self, token: str) -> tuple[str, ...]:
        """Return the other terms of the library that are a token but for accents."""
        typed = self.parsed.typed.get(token, "")
        return self.library_words.words(token).spelled_like(token, typed)

    def suggestions(self, snapshot: Snapshot, tokeniser: Tokeniser) -> tuple[Suggestion, ...]:
        """Return the words that no document has, with the nearest that some have."""
        typed = [self.parsed.typed.get(token, token) for token in self.expanded.unknown]
        return suggest(snapshot, tokeniser, self.library_words, typed)

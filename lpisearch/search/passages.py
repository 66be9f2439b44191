"""Which passage of a document is shown: the one with the query's words, or nearest in meaning."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.search.snippets import semantic_weights, snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.indexes.scoring.engine import Engine
    from lpisearch.indexes.scoring.question import Question
    from lpisearch.records import Details, Passage
    from lpisearch.terms.phrases import WrittenPhrase
    from lpisearch.terms.tokeniser import Tokeniser

_MARKED = 8


class Passages:
    """Finds the passage of each document that was found.

    Parameters
    ----------
    tokeniser
        The library's.
    tokens
        Of the query.
    engine, question
        The index that answered and what it was asked, if one did.
    phrases
        What was quoted.
    """

    def __init__(
        self,
        tokeniser: Tokeniser,
        tokens: tuple[str, ...],
        engine: Engine | None,
        question: Question | None,
        phrases: tuple[WrittenPhrase, ...] = (),
    ) -> None:
        self._tokeniser = tokeniser
        self._engine = engine
        self._question = question
        self._phrases = phrases
        self._words = self._weigh(tokens)

    def passage(self, details: Details, *, has_word: bool) -> Passage:
        """Return the passage to show of a document, told whether a word of the query is in it."""
        wanted, most = self._words, None
        if not has_word and self._engine is not None and self._question is not None:
            tokens = self._tokeniser.tokens(details.text)
            shared = self._words.keys() & tokens
            if not shared:
                index, vector = self._engine.index, self._question.vector
                if not index.is_linear:
                    from lpisearch.search.placed import placed_snippet

                    return placed_snippet(
                        index, vector, details.text, self._tokeniser, title=details.title
                    )
                wanted = semantic_weights(index, vector, tokens)
                most = _MARKED
        return snippet(
            details.text,
            self._tokeniser,
            wanted,
            title=details.title,
            most_marked=most,
            phrases=self._phrases,
        )

    def _weigh(self, tokens: tuple[str, ...]) -> Mapping[str, float]:
        """Weigh words by how rare they are, where an index knows it."""
        weights = dict.fromkeys(tokens, 1.0)
        if self._engine is None or self._question is None:
            return weights
        return weights | self._engine.rarity(self._question)

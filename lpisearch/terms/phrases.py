"""Match phrases exactly as written.

In goes what was quoted, out comes a pattern. Case and accents do not matter, nor does what stands
between two words: white space, punctuation, a hyphen. A word is found whole; a run of a script
that does not part words may be part of a longer one.
"""

from __future__ import annotations

import re
from typing import Any

from lpisearch.terms.characters import words
from lpisearch.terms.folding import fold, origin


class WrittenPhrase:
    """Finds a phrase in texts.

    Parameters
    ----------
    written
        What was quoted; it has a letter or a digit.
    """

    def __init__(self, written: str) -> None:
        self._pattern = _pattern(fold(written))

    def count(self, *texts: str) -> int:
        """Return how often it stands in the texts, in none of them across an end."""
        return sum(1 for text in texts for _ in self._pattern.finditer(fold(text)))

    def find(self, text: str) -> tuple[int, int] | None:
        """Return where it first stands in a text, if it does."""
        match = self._pattern.search(fold(text))
        return origin(text, *match.span()) if match else None


def has_words(text: str) -> bool:
    """Tell whether there is a letter or a digit in a text."""
    return next(words(fold(text), apostrophes=False), None) is not None


def _pattern(folded: str) -> Any:
    letter = r"[^\W_]"
    pieces: list[str] = []
    last = False  # whether the piece before is a word with a border
    for _, word, spaced in words(folded, apostrophes=False):
        if pieces:
            pieces.append(r"[\W_]+" if spaced and last else r"[\W_]*")
        pieces.append(re.escape(word))
        if spaced and len(pieces) == 1:  # after the word, so that a search leaps to its letters
            pieces.append(f"(?<!{letter}{pieces[0]})")
        last = spaced
    if last:
        pieces.append(f"(?!{letter})")
    pattern = "".join(pieces)
    if folded.isascii():
        return re.compile(pattern)
    import regex  # type: ignore[import-untyped] # its \W knows the marks of all scripts

    return regex.compile(pattern, regex.VERSION0)

"""Detect the language of documents from function words and script.

In go texts, out comes the language of each, or "" where nothing tells it. The rules:

1. The first 2,000 characters of a text are looked at.
2. Where half of its letters are of a script that does not part words (Chinese, Japanese, Korean,
   Thai, …), the language is "none": such text is cut into pairs, and there is nothing to stem.
3. Else each function word counts for the languages that have it: one shared by n languages counts
   1/n for each, and single letters of ASCII for none. The language with most wins if that is at
   least 2 and at least 4 % of the words, and no other has more than nine tenths of it.
4. The language of a library is that of most of the documents that tell. Where no document tells
   by itself, all are taken together; where that tells nothing either, it is English.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.messages import Message, Option
from lpisearch.terms.characters import normalise, words
from lpisearch.terms.function_words import function_words
from lpisearch.terms.languages import NO_LANGUAGE
from lpisearch.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable

CHARACTERS = 2000
FALLBACK = "english"
_LEAST_WORDS = 2
_LEAST_SHARE = 0.04
_RUNNER_UP = 0.9
_SHOWN_SHARE = 0.05


class Evidence:
    """What the documents of a library tell of their languages, a batch after the other."""

    def __init__(self) -> None:
        self.documents = 0
        self.counts: Counter[str] = Counter()
        self._together: Counter[str] = Counter()

    def add(self, texts: Iterable[str]) -> None:
        """Look at some documents."""
        for text in texts:
            words = _Words.of(text[:CHARACTERS])
            language = words.language()
            self.documents += 1
            if language:
                self.counts[language] += 1
            elif not self.counts:
                self._together += words.found

    @property
    def language(self) -> str:
        """That of most documents that tell."""
        if self.counts:
            return min(self.counts, key=lambda each: (-self.counts[each], each))
        return _Words(self._together).language() or FALLBACK

    def describe(self, used: str) -> str:
        """Return one line for the user: the language in use, and where it was found."""
        looked = counted(self.documents, "document")
        if not self.counts:
            found = f"Language: {used} (too little text in {looked} to detect it; "
            return Message(found, Option("language"), " changes it)")
        number = self.counts[used]
        found = f"{number:,} of {looked}" if number < self.documents else looked
        least = _SHOWN_SHARE * self.counts.total()
        others = [
            f"{name} in {count:,}"
            for name, count in self.counts.most_common()
            if name != used and count >= least
        ]
        mixed = f"; {', '.join(others)}, all treated as {used}" if others else ""
        return Message(
            f"Language: {used} (detected in {found}{mixed}; ", Option("language"), " changes it)"
        )


@dataclass(frozen=True, slots=True)
class _Words:
    """Words and how often each is there; characters of scripts that do not part words."""

    found: Counter[str]
    unspaced: int = 0

    @classmethod
    def of(cls, text: str) -> _Words:
        found: Counter[str] = Counter()
        unspaced = 0
        for _, word, spaced in words(normalise(text), apostrophes=False):
            if spaced:
                found[word] += 1
            else:
                unspaced += len(word)
        return cls(found, unspaced)

    def language(self) -> str:
        """Return that of the words, or "" where they do not tell it."""
        if self.unspaced > sum(len(word) * count for word, count in self.found.items()):
            return NO_LANGUAGE
        ranked = sorted(self._scores().items(), key=lambda each: (-each[1], each[0]))
        (first, most), (_, second) = (*ranked, ("", 0.0), ("", 0.0))[:2]
        enough = most >= max(_LEAST_WORDS, _LEAST_SHARE * self.found.total())
        return first if enough and second <= _RUNNER_UP * most else ""

    def _scores(self) -> dict[str, float]:
        languages = function_words()
        scores: defaultdict[str, float] = defaultdict(float)
        for word, count in self.found.items():
            # Single letters of ASCII are names, initials and formulas as often as they are words.
            own = languages.get(word, ()) if len(word) > 1 or not word.isascii() else ()
            for language in own:
                scores[language] += count / len(own)
        return scores

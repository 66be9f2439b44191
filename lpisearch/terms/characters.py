"""Characters to words: Unicode normal form, and where a word begins and ends.

In goes text, out comes its normal form, the words in it, and the way back from a place in the
normal form to the place in the text as given. No language is known here but for the apostrophe.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import accumulate, pairwise
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


STRETCH = 50_000


def normalise(text: str) -> str:
    """Return NFKC and casefold, without invisible characters, every apostrophe written '."""
    if text.isascii():
        return text.lower()
    patterns = _patterns()
    text = patterns.extra_marks.sub("", patterns.invisible.sub("", text))
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Casefolding may leave a pair that composes. Turkish İ leaves a dot on i that nobody types.
    return unicodedata.normalize("NFKC", folded).replace("’", "'").replace("i\u0307", "i")


def words(normal: str, *, apostrophes: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield (start, word, True) for each word of a normal text, (start, run, False) for a run.

    A run is text of a script that does not separate words; `pairs` cuts it up.
    """
    if normal.isascii():
        pattern = _ASCII_WORD_WITH_APOSTROPHES if apostrophes else _ASCII_WORD
        for match in pattern.finditer(normal):
            yield match.start(), match.group(), True
        return
    patterns = _patterns()
    for match in (patterns.inner_apostrophes if apostrophes else patterns.words).finditer(normal):
        yield match.start(), match.group(), match.lastgroup != "run"


def pairs(run: str, longest: int) -> list[str]:
    """Return the overlapping pairs of characters (with their marks), or the only character."""
    letters = _letters(run)
    if len(letters) == 1:
        return list(letters)
    return [pair for pair in map(add, letters, letters[1:]) if len(pair) <= longest]


def stretches(run: str) -> Iterator[str]:
    """Cut a long run into stretches that share a letter: their pairs are the pairs of the run."""
    start = 0
    while len(run) - start > STRETCH:
        last = start + STRETCH
        while unicodedata.category(run[last]).startswith("M") and last > start + 1:
            last -= 1
        end = last + 1
        while end < len(run) and unicodedata.category(run[end]).startswith("M"):
            end += 1
        yield run[start:end]
        if end == len(run):
            return
        start = last
    yield run[start:] if start else run


def located_pairs(run: str) -> Iterator[tuple[int, str]]:
    """Yield the same pairs, each with the place where it starts in the run."""
    letters = _letters(run)
    if len(letters) == 1:
        yield 0, run
    starts = accumulate(map(len, letters), initial=0)
    for start, (first, second) in zip(starts, pairwise(letters), strict=False):
        yield start, first + second


def origins(text: str, normal: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return, for each character of the normal form, where its origin starts and ends.

    Both are found by normalising one written character (with its marks) after the other. Where
    that differs from normalising them together, each stands for the whole text.
    """
    if text.isascii():
        return range(len(text)), range(1, len(text) + 1)
    starts: list[int] = []
    ends: list[int] = []
    pieces: list[str] = []
    for match in _patterns().written_characters.finditer(text):
        piece = normalise(match.group())
        pieces.append(piece)
        starts.extend([match.start()] * len(piece))
        ends.extend([match.end()] * len(piece))
    if "".join(pieces) != normal:
        return [0] * len(normal), [len(text)] * len(normal)
    return starts, ends


def _letters(run: str) -> Sequence[str]:
    letters: list[str] = _patterns().letters_with_marks.findall(run)
    return run if len(letters) == len(run) else letters


_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ASCII_WORD_WITH_APOSTROPHES = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")


class _Patterns(NamedTuple):
    invisible: Any
    extra_marks: Any
    words: Any
    inner_apostrophes: Any
    letters_with_marks: Any
    written_characters: Any


@cache
def _patterns() -> _Patterns:
    import regex  # type: ignore[import-untyped]

    scripts = ("Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Thai", "Lao", "Khmer")
    script = "".join(rf"\p{{{name}}}" for name in (*scripts, "Myanmar"))
    # The Han zero is a number, the mark of a long vowel is of no script.
    unspaced = rf"[[\p{{L}}&&[{script}]]〇ー]"
    spaced = rf"[[\p{{L}}\p{{N}}]--{unspaced}]"
    word = rf"{spaced}[{spaced}\p{{M}}]*+"
    run = rf"(?P<run>{unspaced}[{unspaced}\p{{M}}]*+)"

    def compiled(pattern: str) -> Any:
        return regex.compile(pattern, regex.VERSION1)

    return _Patterns(
        # As NFKC_Casefold does, but a zero-width space parts words, above all in Thai and Khmer.
        invisible=compiled(r"[\p{Default_Ignorable_Code_Point}--\u200b]++"),
        # Stream-safe text (UAX 15) has at most 30 marks on a letter; normalising is quadratic in
        # their number.
        extra_marks=compiled(r"(?<=\p{M}{30})\p{M}++"),
        words=compiled(f"{run}|{word}"),
        inner_apostrophes=compiled(f"{run}|{word}(?:'{word})*+"),
        letters_with_marks=compiled(rf"{unspaced}\p{{M}}*+"),
        written_characters=compiled(r"\X"),
    )

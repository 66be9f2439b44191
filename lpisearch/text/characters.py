"""Normal form of text, words, folding of case and accents, phrases.

The normal form keeps the way back to positions in the original text. The folded form drops marks of
Latin, Greek, Hebrew and Arabic letters and spells out ø, ł, æ, ß and the like; marks that make
another letter (Cyrillic й, Japanese が, vowels of Indic scripts) stay. A phrase ignores case,
accents and what separates its words; runs of a script without spaces may be part of longer ones.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from itertools import accumulate, pairwise
from operator import add
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


STRETCH = 50_000


def normalise(text: str) -> str:
    """Return NFKC and casefold, without invisible characters, every apostrophe as '."""
    if text.isascii():
        return text.lower()
    if _MARK_OR_INVISIBLE.search(text):
        patterns = _patterns()
        text = patterns.extra_marks.sub("", patterns.invisible.sub("", text))
    folded = unicodedata.normalize("NFKC", text).casefold()
    # Casefolding may leave a pair that composes. Turkish İ leaves a dot on i that nobody types.
    return unicodedata.normalize("NFKC", folded).replace("’", "'").replace("i\u0307", "i")


def words(normal: str, *, apostrophes: bool) -> Iterator[tuple[int, str, bool]]:
    """Yield (start, word, True) for each word of a normal text, (start, run, False) for a run.

    A run is text of a script that does not separate words; `pairs` splits it.
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


def are_overlapping(first: str, second: str) -> bool:
    """Tell whether two terms are pairs of a run, the second of which begins within the first."""
    if first.isascii() or not any(map(second.startswith, (first[1:], first[2:] or first))):
        return False
    match = _patterns().words.fullmatch(first + second)
    return match is not None and match.lastgroup == "run"


def stretches(run: str) -> Iterator[str]:
    """Split a long run into chunks that share a letter: their pairs are the pairs of the run."""
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
    """Yield the same pairs, each with the position where it starts in the run."""
    letters = _letters(run)
    if len(letters) == 1:
        yield 0, run
    starts = accumulate(map(len, letters), initial=0)
    for start, (first, second) in zip(starts, pairwise(letters), strict=False):
        yield start, first + second


def origins(text: str, normal: str) -> tuple[Sequence[int], Sequence[int]]:
    """Return, for each character of the normal form, where its origin starts and ends.

    Found by normalising one written character (with its marks) after the other. Where that differs
    from normalising them together, each maps to the whole text.
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


# No other characters before Cyrillic numbers are marks or invisible; `regex` is slow to load.
_MARK_OR_INVISIBLE = re.compile("[\xad\u0300-\u036f\u0483-\U0010ffff]")
_ASCII_WORD = re.compile(r"[a-z0-9]+")
_ASCII_WORD_WITH_APOSTROPHES = re.compile(r"[a-z0-9]+(?:'[a-z0-9]+)*")


_SCRIPTS = "Han", "Hiragana", "Katakana", "Bopomofo", "Hangul", "Thai", "Lao", "Khmer", "Myanmar"
_IN_SCRIPT = "".join(rf"\p{{{name}}}" for name in _SCRIPTS)
# The Han zero is a number, the mark of a long vowel is of no script.
UNSPACED = rf"[[\p{{L}}&&[{_IN_SCRIPT}]]〇ー]"
"""A letter of a script without spaces between words, as a set of `regex` (VERSION1)."""


class _Patterns(NamedTuple):
    invisible: Any
    extra_marks: Any
    words: Any
    inner_apostrophes: Any
    letters_with_marks: Any
    written_characters: Any


@cache
def _patterns() -> _Patterns:
    import regex

    unspaced = UNSPACED
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


_LETTERS = str.maketrans(
    dict(zip("øđłıðħŧё", "odlidhtе", strict=True))  # noqa: RUF001 (the last is Cyrillic)
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_SPREAD = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


def fold(text: str) -> str:
    """Return the normal form of a text without accents.

    >>> fold("Brömmelmeier, Straße, Ærø, résumé")
    'brommelmeier, strasse, aero, resume'
    """
    if text.isascii():
        return text.lower()
    return _BEYOND_ASCII.sub(lambda match: _folded(match.group()), text).lower()


def origin(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the start and end in a text of a range of its folded form.

    >>> text = "Die Straße nach Ærø"
    >>> text[slice(*origin(text, 4, 11))], text[slice(*origin(text, 17, 21))]
    ('Straße', 'Ærø')
    """
    starts: list[int] = []
    ends: list[int] = []
    done = 0
    for match in _BEYOND_ASCII.finditer(text):
        plain = range(done, match.start())
        starts += plain
        ends += (at + 1 for at in plain)
        size, first, last = len(_folded(match.group())), match.start(), match.end()
        if size == last - first:
            starts += range(first, last)
            ends += range(first + 1, last + 1)
        else:  # as much of a run as there is, rather than a part of a letter
            starts += [first] * size
            ends += [last] * size
            if not size and ends:  # accents of the letter before
                ends[-1] = last
        if len(starts) > end:
            break
        done = last
    else:
        starts += range(done, len(text))
        ends += range(done + 1, len(text) + 1)
    return starts[start], ends[end - 1]


def folded_spellings(word: str) -> tuple[str, ...]:
    """Return how a word may be typed without accents: ö is o, in German and Danish also oe.

    >>> folded_spellings("Müller")
    ('muller', 'mueller')
    """
    normal = normalise(word)
    if normal.isascii():
        return (normal,)
    return tuple(dict.fromkeys((fold(normal), fold(normal.translate(_SPREAD)))))


# Most of a text in most languages is ASCII, and the rest are few different runs.
_BEYOND_ASCII = re.compile(r"[^\x00-\x7f]+")


@lru_cache(maxsize=100_000)
def _folded(run: str) -> str:
    decomposed = unicodedata.normalize("NFD", normalise(run).translate(_LETTERS))
    return unicodedata.normalize("NFC", _marks().sub("", decomposed))


@cache
def _marks() -> Any:
    import regex

    scripts = "".join(rf"\p{{{name}}}" for name in ("Latin", "Greek", "Hebrew", "Arabic"))
    return regex.compile(rf"(?:(?<=[{scripts}])|\A)\p{{Mn}}++")


class WrittenPhrase:
    """Finds a quoted phrase, which has a letter or a digit, in texts."""

    def __init__(self, written: str) -> None:
        self._pattern = _pattern(fold(written))

    def count(self, *texts: str) -> int:
        """Return how often the phrase occurs in the texts, never across two of them."""
        return sum(1 for text in texts for _ in self._pattern.finditer(fold(text)))

    def find(self, text: str) -> tuple[int, int] | None:
        """Return the start and end of the first occurrence in a text."""
        match = self._pattern.search(fold(text))
        return origin(text, *match.span()) if match else None


def has_words(text: str) -> bool:
    """Tell whether a text has a letter or a digit."""
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
    import regex  # its \W knows the marks of all scripts

    return regex.compile(pattern, regex.VERSION0)

"""Fold case and accents.

In goes text, out comes its normal form in which letters of Latin, Greek, Hebrew and Arabic stand
without their marks, and ø, ł, æ, ß and their like as plain letters. Marks that make another letter
(Cyrillic й, Japanese が, vowels of Indic scripts) stay.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

from lpisearch.terms.characters import normalise

_LETTERS = str.maketrans(
    dict(zip("øđłıðħŧё", "odlidhtе", strict=True))  # noqa: RUF001 (the last is Cyrillic)
    | {"æ": "ae", "œ": "oe", "þ": "th"}
)
_SPREAD = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "ø": "oe", "å": "aa"})


def fold(text: str) -> str:
    """Return a text in its normal form without accents.

    Examples
    --------
    >>> fold("Brömmelmeier, Straße, Ærø, résumé")
    'brommelmeier, strasse, aero, resume'
    """
    if text.isascii():
        return text.lower()
    return _BEYOND_ASCII.sub(lambda match: _folded(match.group()), text).lower()


def origin(text: str, start: int, end: int) -> tuple[int, int]:
    """Return where in a text a stretch of its folded form comes from.

    Examples
    --------
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
    """Return how a word may be typed without accents: ö is o, and in German and Danish oe.

    Examples
    --------
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
    import regex  # type: ignore[import-untyped]

    scripts = "".join(rf"\p{{{name}}}" for name in ("Latin", "Greek", "Hebrew", "Arabic"))
    return regex.compile(rf"(?:(?<=[{scripts}])|\A)\p{{Mn}}++")

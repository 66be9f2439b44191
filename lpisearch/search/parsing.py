"""What a person types to what a search needs: tokens, phrases that must occur, and exclusions.

1. A "quoted phrase" must occur as it is written, and its words rank too. “Curly”, „low“ and
   «angle» quotes do the same. A quote that is not closed is an ordinary sign, and so is a straight
   one that directly follows a digit (5" is a length).
2. "A quoted phrase"~ is compared by its stems, without stop words: "baking bread"~ is found in
   "baked the bread".
3. A -word must not occur, in no form of it, nor a -"quoted phrase" as it is written, nor a word
   that begins like a -prefix*. The minus stands at the beginning or after white space, and
   directly before a letter, a digit or a quote; the word goes on to the next white space or quote.
   So multi-agent, "a - b" and --force exclude nothing.
4. A prefix* of two letters or more, the star directly behind it, stands for all words that begin
   so. A star elsewhere is an ordinary sign.
5. All else is plain text: AND, NEAR( and the like mean nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.terms.characters import normalise, words
from lpisearch.terms.phrases import has_words

if TYPE_CHECKING:
    from lpisearch.terms.tokeniser import Tokeniser


@dataclass(frozen=True, slots=True)
class Phrase:
    """What must or must not occur.

    Attributes
    ----------
    tokens
        One directly after the other; empty if all its words are stop words.
    written
        The text that must stand there; empty if the tokens are enough.
    """

    tokens: tuple[str, ...]
    written: str = ""


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query, taken apart.

    Attributes
    ----------
    tokens
        What ranks, in the order of the text: all words but the excluded ones.
    phrases
        Each must occur. No two are equal.
    excluded
        None of them may occur. A single word is a phrase of one token; no two are equal.
    prefixes, excluded_prefixes
        How words begin, in their normal form.
    typed
        How each token was first typed, for what is said to the user.
    """

    tokens: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded_prefixes: tuple[str, ...] = ()
    typed: dict[str, str] = field(default_factory=dict, compare=False)


def parse_query(text: str, tokeniser: Tokeniser) -> ParsedQuery:
    """Take a query apart; any text is one.

    Examples
    --------
    >>> from lpisearch.terms.tokeniser import Tokeniser
    >>> parsed = parse_query('"neural nets" learn* -deep', Tokeniser())
    >>> parsed.tokens, parsed.prefixes
    (('neural', 'net'), ('learn',))
    >>> parsed.phrases, parsed.excluded
    ((Phrase(tokens=('neural', 'net'), written='neural nets'),), (Phrase(tokens=('deep',), written=''),))
    """  # noqa: E501 (a result is one line)
    pieces = _Pieces(tokeniser)
    end = 0
    for match in _DEMAND.finditer(text):
        pieces.plain(text[end : match.start()])
        if match.lastgroup == "prefix":
            pieces.prefix(match.group("prefix"))
        else:
            pieces.demand(match)
        end = match.end()
    pieces.plain(text[end:])
    return pieces.parsed()


def parse_plain(text: str, tokeniser: Tokeniser) -> ParsedQuery:
    """Do the same with a text in which no sign asks for anything."""
    pieces = _Pieces(tokeniser)
    pieces.plain(text)
    return pieces.parsed()


class _Pieces:
    """What has been found so far."""

    def __init__(self, tokeniser: Tokeniser) -> None:
        self._tokeniser = tokeniser
        self._tokens: list[str] = []
        self._phrases: list[Phrase] = []
        self._excluded: list[Phrase] = []
        self._prefixes: list[str] = []
        self._excluded_prefixes: list[str] = []
        self._typed: dict[str, str] = {}

    def plain(self, text: str) -> None:
        """Take words that rank."""
        if len(text) > _LONGEST_TYPED:  # nobody typed it
            self._tokens += self._tokeniser.tokens(text)
            return
        for start, end, token in self._tokeniser.spans(text):
            self._tokens.append(token)
            self._typed.setdefault(token, text[start:end])

    def prefix(self, text: str) -> None:
        """Take how words begin, given with its star."""
        begin = normalise(text[:-1])
        if all(spaced for _, _, spaced in words(begin, apostrophes=False)):
            self._prefixes.append(begin)
        else:  # pairs of characters are found within a longer word as they are
            self.plain(text)

    def demand(self, match: re.Match[str]) -> None:
        """Take a phrase or an exclusion."""
        excluded = match.lastgroup == "excluded"
        text = match.group().removeprefix("-") if excluded else match.group()
        if excluded and _PREFIX.fullmatch(text):
            self._excluded_prefixes.append(normalise(text[:-1]))
            return
        quoted = _OPENING.match(text) is not None
        written = text.rstrip("~")[1:-1] if quoted and not text.endswith("~") else ""
        tokens = tuple(self._tokeniser.tokens(text))
        phrase = Phrase(tokens, written if written and has_words(written) else "")
        if phrase.tokens or phrase.written:
            (self._excluded if excluded else self._phrases).append(phrase)
        if not excluded:
            self.plain(text)

    def parsed(self) -> ParsedQuery:
        """Return the whole."""
        return ParsedQuery(
            tuple(self._tokens),
            tuple(dict.fromkeys(self._phrases)),
            tuple(dict.fromkeys(self._excluded)),
            tuple(dict.fromkeys(self._prefixes)),
            tuple(dict.fromkeys(self._excluded_prefixes)),
            self._typed,
        )


_LONGEST_TYPED = 10_000
# No alternative is tried over more text than up to the next quote of its kind, so that a
# megabyte of quotes takes no longer than one of letters.
_QUOTED = r'(?:(?<!\d)"[^"]*+"|“[^“”]*+”|„[^„“”]*+[“”]|«[^«»]*+»)~?'
_OPENING = re.compile('["“„«]')
# Possessive: a run of letters is looked at once, whether a star follows or not.
_STARRED = r"(?<![^\W_])[^\W_]{2,}+\*(?![\w*])"
_PREFIX = re.compile(_STARRED)
_DEMAND = re.compile(
    rf'(?P<excluded>(?<!\S)-(?:{_QUOTED}|[^\W_][^\s"“”„«»]*+))'
    rf"|(?P<phrase>{_QUOTED})|(?P<prefix>{_STARRED})"
)

"""Typed text to words, phrases, exclusions.

1. A "quoted phrase" must occur as it is written, and its words rank too. “Curly”, „low“ and
   «angle» quotes do the same. A quote that is not closed is an ordinary sign, and so is a straight
   one that directly follows a digit (5" is a length).
2. "A quoted phrase"~ is compared by its stems, without stop words: "baking bread"~ is found in
   "baked the bread".
3. A -word must not occur in any form, nor a -"quoted phrase" exactly as typed, nor a word
   that begins like a -prefix*. The minus stands at the beginning or after white space, and
   directly before a letter, a digit or a quote; the word goes on to the next white space or quote.
   So multi-agent, "a - b" and --force exclude nothing.
4. A prefix* of two letters or more, the star directly behind it, stands for all words that begin
   so. A star elsewhere is an ordinary sign.
5. title:word, title:"a phrase" and title:begin* must occur in the title; or, with a minus, must
   not.
6. Of what stands on both sides of OR one must occur, in any form: bread OR "rye loaf". Within
   parentheses that have an OR, what stands between two ORs belongs together: (rye bread OR leaven).
   A minus before them excludes what they find. Parentheses within parentheses mean nothing.
7. All else is plain text: AND, NEAR( and the like mean nothing here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.text.characters import has_words, normalise, words

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.text.tokeniser import Tokeniser


@dataclass(frozen=True, slots=True)
class Phrase:
    """What must or must not occur.

    Attributes
    ----------
    tokens
        One directly after the other; empty if all its words are stop words.
    written
        The text that must stand there; empty if the tokens are enough.
    in_title
        Whether the title is meant, and not the text.
    prefix
        In place of the two: how a word begins, in its normal form.
    typed
        What it was made of, for what is said to the user.
    """

    tokens: tuple[str, ...]
    written: str = ""
    in_title: bool = False
    prefix: str = ""
    typed: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Alternatives of which one must occur, or none; each is several things that all must.

    Attributes
    ----------
    alternatives
        At least one.
    excluded
        Whether none of them may occur.
    typed
        How it was typed, for what is said to the user.
    """

    alternatives: tuple[tuple[Phrase, ...], ...]
    excluded: bool = False
    typed: str = field(default="", compare=False)


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
    any_of
        Each must be met.
    typed
        How each token was first typed, for what is said to the user.
    """

    tokens: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded_prefixes: tuple[str, ...] = ()
    any_of: tuple[AnyOf, ...] = ()
    typed: dict[str, str] = field(default_factory=dict, compare=False)

    @property
    def read_for(self) -> Iterator[Phrase]:
        """What must occur in any spelling: in a title, as it is written, or as an alternative."""
        yield from (phrase for phrase in self.phrases if phrase.written or phrase.in_title)
        for group in self.any_of:
            for alternative in group.alternatives:
                yield from alternative


def parse_query(text: str, tokeniser: Tokeniser) -> ParsedQuery:
    """Take a query apart; any text is one.

    Examples
    --------
    >>> from lpisearch.text.tokeniser import Tokeniser
    >>> parsed = parse_query('"neural nets" learn* -deep', Tokeniser())
    >>> parsed.tokens, parsed.prefixes
    (('neural', 'net'), ('learn',))
    >>> [phrase.written for phrase in parsed.phrases], [one.tokens for one in parsed.excluded]
    (['neural nets'], [('deep',)])
    """
    pieces = _Pieces(tokeniser)
    end = 0
    for match in _DEMAND.finditer(text):
        pieces.plain(text[end : match.start()])
        if match.lastgroup == "prefix":
            pieces.prefix(match.group("prefix"))
        elif match.lastgroup == "any":
            pieces.any_of(match.group("any"))
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
        self._any_of: list[AnyOf] = []
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
        """Take a phrase, a title or an exclusion."""
        excluded = match.lastgroup == "excluded"
        text = match.group().removeprefix("-") if excluded else match.group()
        if excluded and _PREFIX.fullmatch(text):
            self._excluded_prefixes.append(normalise(text[:-1]))
            return
        phrase = self._phrase(text)
        if phrase is not None:
            (self._excluded if excluded else self._phrases).append(phrase)
        if not excluded:
            self._rank(text)

    def any_of(self, text: str) -> None:
        """Take alternatives, whose words rank too."""
        excluded = text.startswith("-")
        alternatives = []
        for alternative in _alternatives(text.removeprefix("-")):
            phrases = [self._phrase(atom) for atom in alternative]
            alternatives.append(tuple(phrase for phrase in phrases if phrase is not None))
            for atom in () if excluded else alternative:
                self._rank(atom)
        if alternatives and all(alternatives):
            self._any_of.append(AnyOf(tuple(alternatives), excluded, text))

    def _phrase(self, text: str) -> Phrase | None:
        """Return what a word, a prefix or a quoted phrase demands; None if it is nothing."""
        in_title = _TITLE.match(text) is not None
        text = _untitled(text)
        if _PREFIX.fullmatch(text):
            return Phrase((), "", in_title, normalise(text[:-1]), text)
        quoted = _OPENING.match(text) is not None
        written = text.rstrip("~")[1:-1] if quoted and not text.endswith("~") else ""
        tokens = tuple(self._tokeniser.tokens(text))
        if not tokens and not quoted and in_title:
            written = text  # a stop word, which is in titles for a reason
        written = written if written and has_words(written) else ""
        phrase = Phrase(tokens, written, in_title, typed=text)
        return phrase if phrase.tokens or phrase.written else None

    def _rank(self, text: str) -> None:
        """Take the words of a demand for what ranks."""
        text = _untitled(text)
        if _PREFIX.fullmatch(text):
            self.prefix(text)
        else:
            self.plain(text)

    def parsed(self) -> ParsedQuery:
        """Return the whole."""
        return ParsedQuery(
            tuple(self._tokens),
            tuple(dict.fromkeys(self._phrases)),
            tuple(dict.fromkeys(self._excluded)),
            tuple(dict.fromkeys(self._prefixes)),
            tuple(dict.fromkeys(self._excluded_prefixes)),
            tuple(self._any_of),
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
_TITLE = re.compile("title:", re.IGNORECASE)
_WORD = r'[^\W_][^\s"“”„«»()]*+'
_ATOM = rf"(?:(?i:title:)(?:{_QUOTED}|{_WORD})|{_QUOTED}|{_WORD})"
_ALTERNATIVE = rf"(?:{_ATOM}|\([^()]*+\))"
_ANY = (
    rf"(?<!\S)(?:{_ALTERNATIVE}(?:\s++OR\s++{_ALTERNATIVE})++"
    r"|-?\((?=[^()]*\sOR\s)[^()]*+\))"
)
_DEMAND = re.compile(
    rf"(?P<any>{_ANY})"
    rf'|(?P<excluded>(?<!\S)-(?:{_ATOM}|[^\W_][^\s"“”„«»]*+))'
    rf"|(?P<title>(?<![^\s(])(?i:title:)(?:{_QUOTED}|{_WORD}))"
    rf"|(?P<phrase>{_QUOTED})|(?P<prefix>{_STARRED})"
)
_OR_OR_ATOM = re.compile(rf"(?P<or>(?<![^\s(])OR(?![^\s)]))|{_ATOM}")


def _untitled(text: str) -> str:
    title = _TITLE.match(text)
    return text[title.end() :] if title else text


def _alternatives(text: str) -> Iterator[list[str]]:
    """Yield what is asked for of each alternative."""
    atoms: list[str] = []
    for match in _OR_OR_ATOM.finditer(text):
        if match.lastgroup == "or":
            yield atoms
            atoms = []
        else:
            atoms.append(match.group())
    yield atoms

"""Parser: the syntax of a query.

1. A "quoted phrase" must occur as written, and its words rank too. “Curly”, „low“ and «angle»
   quotes are equivalent. A quote that is not closed is an ordinary character, and so is a straight
   one directly after a digit (5" is a length).
2. "A quoted phrase"~ is compared by its stems, without stop words: "baking bread"~ matches "baked
   the bread".
3. A -word must not occur in any form, nor a -"quoted phrase" exactly as typed, nor a word that
   begins with a -prefix*. The minus is at the beginning or after white space, and directly before a
   letter, a digit or a quote; the word ends at the next white space or quote. So multi-agent,
   "a - b" and --force exclude nothing.
4. A prefix* of two letters or more, directly followed by the star, stands for all words that begin
   with it. A star elsewhere is an ordinary character.
5. title:word, title:"a phrase" and title:begin* must occur in the title or, with a minus, must not.
6. One side of OR must occur, in any form: bread OR "rye loaf". In parentheses with an OR, all
   between two ORs belongs together: (rye bread OR leaven). A minus before them excludes what they
   match. Nested parentheses have no meaning.
7. ext:pdf, dir:letters, date:2024 (date:2024-03..2025) and label:invoice name documents by the
   ending of their file, a folder around it, their date, their label; dir:"old letters" has a space.
   They do not rank. Several of one kind are alternatives; a minus, OR and parentheses apply.
   "ext:pdf" in quotation marks is a phrase.
8. Everything else is plain text: AND, NEAR( and the like have no meaning. In it, words joined
   without a space are compounds (compounds.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lpisearch.search.compounds import MOST_COMPOUNDS, Compound, compounds_of
from lpisearch.text.characters import has_words, normalise, words

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from lpisearch.text.tokeniser import Tokeniser


@dataclass(frozen=True, slots=True)
class Phrase:
    """What must or must not occur: tokens one after the other, and the text as written.

    `tokens` is empty if all words are stop words, `written` if the tokens are enough; `prefix`
    replaces both. `typed` is for messages; `variants` has the tokens in other languages. A `kind`
    such as "ext" has a `value` alone.
    """

    tokens: tuple[str, ...]
    written: str = ""
    in_title: bool = False
    prefix: str = ""
    typed: str = field(default="", compare=False)
    variants: tuple[tuple[str, ...], ...] = ()
    kind: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class AnyOf:
    """Alternatives of which one must occur (or none, if excluded); all phrases of it must."""

    alternatives: tuple[tuple[Phrase, ...], ...]
    excluded: bool = False
    typed: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A parsed query.

    `tokens` rank: all words but the excluded ones, in order. Each of `phrases` must occur and none
    of `excluded` may (a word is a phrase of one token); prefixes are in their normal form. `typed`
    has how each token was first typed, for messages. Of `compounds` none must occur. `variants` has
    the same words as tokens of other languages, where they differ.
    """

    tokens: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()
    prefixes: tuple[str, ...] = ()
    excluded_prefixes: tuple[str, ...] = ()
    any_of: tuple[AnyOf, ...] = ()
    typed: dict[str, str] = field(default_factory=dict, compare=False)
    compounds: tuple[Compound, ...] = ()
    variants: dict[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def read_for(self) -> Iterator[Phrase]:
        """The phrases that match in any spelling: in a title, as written, or an alternative."""
        yield from (phrase for phrase in self.phrases if phrase.written or phrase.in_title)
        for group in self.any_of:
            for alternative in group.alternatives:
                yield from alternative


def parse_query(text: str, tokeniser: Tokeniser, others: Sequence[Tokeniser] = ()) -> ParsedQuery:
    """Parse a query; any text is one. `others` are for documents in other languages.

    Examples
    --------
    >>> from lpisearch.text.tokeniser import Tokeniser
    >>> parsed = parse_query('"neural nets" learn* -deep', Tokeniser())
    >>> parsed.tokens, parsed.prefixes
    (('neural', 'net'), ('learn',))
    >>> [phrase.written for phrase in parsed.phrases], [one.tokens for one in parsed.excluded]
    (['neural nets'], [('deep',)])
    """
    pieces = _Pieces(tokeniser, others)
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


def parse_plain(text: str, tokeniser: Tokeniser, others: Sequence[Tokeniser] = ()) -> ParsedQuery:
    """Parse a text in which no character has a meaning."""
    pieces = _Pieces(tokeniser, others)
    pieces.plain(text)
    return pieces.parsed()


class _Pieces:
    """The parts of a query so far."""

    def __init__(self, tokeniser: Tokeniser, others: Sequence[Tokeniser]) -> None:
        self._tokeniser, self._others = tokeniser, others
        self._variants: dict[str, tuple[str, ...]] = {}
        self._tokens: list[str] = []
        self._phrases: list[Phrase] = []
        self._excluded: list[Phrase] = []
        self._prefixes: list[str] = []
        self._excluded_prefixes: list[str] = []
        self._any_of: list[AnyOf] = []
        self._typed: dict[str, str] = {}
        self._compounds: list[Compound] = []

    def plain(self, text: str) -> None:
        """Add words that rank."""
        if len(text) > _LONGEST_TYPED:  # it was not typed
            self._tokens += self._tokeniser.tokens(text)
            return
        self._compounds += compounds_of(text, self._tokeniser, self._others)
        for start, end, token in self._tokeniser.spans(text):
            self._tokens.append(token)
            self._typed.setdefault(token, text[start:end])
            if self._others and token not in self._variants:
                others = {term for other in self._others for term in other.tokens(text[start:end])}
                self._variants[token] = tuple(sorted(others - {token}))

    def prefix(self, text: str) -> None:
        """Add a prefix with its star."""
        begin = normalise(text[:-1])
        if all(spaced for _, _, spaced in words(begin, apostrophes=False)):
            self._prefixes.append(begin)
        else:  # pairs of characters match within a longer word anyway
            self.plain(text)

    def demand(self, match: re.Match[str]) -> None:
        """Add a phrase, a title or an exclusion."""
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
        """Add alternatives, whose words rank too."""
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
        """Return the phrase of a word, a prefix or a quoted text; None if it is empty."""
        if (named := _FIELD.match(text)) is not None:
            value = text[named.end() :].rstrip("~").strip('"“”„«»')
            return Phrase((), kind=named[1].lower(), value=value, typed=text) if value else None
        in_title = _TITLE.match(text) is not None
        text = _untitled(text)
        if _PREFIX.fullmatch(text):
            return Phrase((), "", in_title, normalise(text[:-1]), text)
        quoted = _OPENING.match(text) is not None
        written = text.rstrip("~")[1:-1] if quoted and not text.endswith("~") else ""
        tokens = tuple(self._tokeniser.tokens(text))
        if not tokens and not quoted and in_title:
            written = text  # a stop word, which matters in a title
        written = written if written and has_words(written) else ""
        variants = dict.fromkeys(tuple(other.tokens(text)) for other in self._others)
        others = tuple(own for own in variants if own and own != tokens)
        phrase = Phrase(tokens, written, in_title, typed=text, variants=others)
        return phrase if phrase.tokens or phrase.written else None

    def _rank(self, text: str) -> None:
        """Add the words of a demand to those that rank."""
        if _FIELD.match(text):
            return
        text = _untitled(text)
        if _PREFIX.fullmatch(text):
            self.prefix(text)
        else:
            self.plain(text)

    def parsed(self) -> ParsedQuery:
        """Return the parsed query; fields of one kind are alternatives."""
        phrases = [phrase for phrase in self._phrases if not phrase.kind]
        for kind in dict.fromkeys(phrase.kind for phrase in self._phrases if phrase.kind):
            same = [phrase for phrase in self._phrases if phrase.kind == kind]
            if len(same) == 1:
                phrases += same
            else:
                typed = " ".join(phrase.typed for phrase in same)
                self._any_of.append(AnyOf(tuple((phrase,) for phrase in same), typed=typed))
        return ParsedQuery(
            tuple(self._tokens),
            tuple(dict.fromkeys(phrases)),
            tuple(dict.fromkeys(self._excluded)),
            tuple(dict.fromkeys(self._prefixes)),
            tuple(dict.fromkeys(self._excluded_prefixes)),
            tuple(self._any_of),
            self._typed,
            tuple(dict.fromkeys(self._compounds))[:MOST_COMPOUNDS],
            self._variants,
        )


_LONGEST_TYPED = 10_000
# No alternative reads beyond the next quote of its kind, so that a megabyte of quotes takes no
# longer than one of letters.
_QUOTED = r'(?:(?<!\d)"[^"]*+"|“[^“”]*+”|„[^„“”]*+[“”]|«[^«»]*+»)~?'
_OPENING = re.compile('["“„«]')
# Possessive: a run of letters is read once, whether a star follows or not.
_STARRED = r"(?<![^\W_])[^\W_]{2,}+\*(?![\w*])"
_PREFIX = re.compile(_STARRED)
_TITLE = re.compile("title:", re.IGNORECASE)
_WORD = r'[^\W_][^\s"“”„«»()]*+'
_FIELD = re.compile("(ext|dir|date|label):", re.IGNORECASE)
_FIELD_ATOM = rf'(?i:(?:ext|dir|date|label):)(?:{_QUOTED}|[^\s"“”„«»()]++)'
_ATOM = rf"(?:{_FIELD_ATOM}|(?i:title:)(?:{_QUOTED}|{_WORD})|{_QUOTED}|{_WORD})"
_ALTERNATIVE = rf"(?:{_ATOM}|\([^()]*+\))"
_ANY = (
    rf"(?<!\S)(?:{_ALTERNATIVE}(?:\s++OR\s++{_ALTERNATIVE})++"
    r"|-?\((?=[^()]*\sOR\s)[^()]*+\))"
)
_DEMAND = re.compile(
    rf"(?P<any>{_ANY})"
    rf"|(?P<field>(?<![^\s(]){_FIELD_ATOM})"
    rf'|(?P<excluded>(?<!\S)-(?:{_ATOM}|[^\W_][^\s"“”„«»]*+))'
    rf"|(?P<title>(?<![^\s(])(?i:title:)(?:{_QUOTED}|{_WORD}))"
    rf"|(?P<phrase>{_QUOTED})|(?P<prefix>{_STARRED})"
)
_OR_OR_ATOM = re.compile(rf"(?P<or>(?<![^\s(])OR(?![^\s)]))|{_ATOM}")


def _untitled(text: str) -> str:
    title = _TITLE.match(text)
    return text[title.end() :] if title else text


def _alternatives(text: str) -> Iterator[list[str]]:
    """Yield the atoms of each alternative."""
    atoms: list[str] = []
    for match in _OR_OR_ATOM.finditer(text):
        if match.lastgroup == "or":
            yield atoms
            atoms = []
        else:
            atoms.append(match.group())
    yield atoms

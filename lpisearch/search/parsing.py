"""What a person types to what a search needs: tokens, phrases that must occur, and exclusions.

1. A "quoted phrase" must occur, and its words rank too. “Curly”, „low“ and «angle» quotes do the
   same. A quote that is not closed is an ordinary sign, and so is a straight one that directly
   follows a digit (5" is a length).
2. A -word must not occur, nor a -"quoted phrase". The minus stands at the beginning or after
   white space, and directly before a letter, a digit or a quote; the word goes on to the next
   white space or quote. So multi-agent, "a - b" and --force exclude nothing.
3. All else is plain text: AND, *, NEAR( and the like mean nothing here.

Phrases and exclusions are compared as tokens: without stop words and by their stems, so that
"state of the art" is found where "state" stands before "art", and one of stop words alone asks
for nothing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lpisearch.terms.tokeniser import Tokeniser

Phrase = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """A query, taken apart.

    Attributes
    ----------
    tokens
        What ranks, in the order of the text: all words but the excluded ones.
    phrases
        Each must occur: its tokens, one directly after the other. No two are equal.
    excluded
        None of them may occur. A single word is a phrase of one token; no two are equal.
    """

    tokens: tuple[str, ...]
    phrases: tuple[Phrase, ...] = ()
    excluded: tuple[Phrase, ...] = ()


def parse_query(text: str, tokeniser: Tokeniser) -> ParsedQuery:
    """Take a query apart; any text is one.

    Examples
    --------
    >>> from lpisearch.terms.tokeniser import Tokeniser
    >>> parse_query('"neural nets" for learning -deep', Tokeniser())
    ParsedQuery(tokens=('neural', 'net', 'learn'), phrases=(('neural', 'net'),), excluded=(('deep',),))
    """  # noqa: E501 (a result is one line)
    tokens: list[str] = []
    phrases: list[Phrase] = []
    excluded: list[Phrase] = []
    end = 0
    for match in _DEMAND.finditer(text):
        tokens += tokeniser.tokens(text[end : match.start()])
        found = tuple(tokeniser.tokens(match.group()))
        if match.lastgroup == "excluded":
            excluded.append(found)
        else:
            phrases.append(found)
            tokens += found
        end = match.end()
    tokens += tokeniser.tokens(text[end:])
    return ParsedQuery(tuple(tokens), _distinct(phrases), _distinct(excluded))


def _distinct(phrases: list[Phrase]) -> tuple[Phrase, ...]:
    return tuple(dict.fromkeys(filter(None, phrases)))


# No alternative is tried over more text than up to the next quote of its kind, so that a
# megabyte of quotes takes no longer than one of letters.
_QUOTED = r'(?:(?<!\d)"[^"]*+"|“[^“”]*+”|„[^„“”]*+[“”]|«[^«»]*+»)'
_DEMAND = re.compile(
    rf'(?P<excluded>(?<!\S)-(?:{_QUOTED}|[^\W_][^\s"“”„«»]*+))|(?P<phrase>{_QUOTED})'
)

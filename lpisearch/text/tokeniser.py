"""Tokeniser, one per thread; tokens of documents and surface forms.

Tokens are letters, numbers and marks only, in lower case, stemmed:

1. Unicode NFKC and casefold; invisible characters (soft hyphen, joiners) are removed.
2. A word is a run of letters and numbers with their marks; everything else separates, hyphen and
   underscore too. In English an inner apostrophe belongs to the word until the end, so that
   "don't" is a stop word, "boy's" becomes "boy" and "o'neil" becomes "oneil"; in other languages
   it separates, so that "l'amour" is "l" and "amour".
3. Scripts without spaces between words (Chinese, Japanese, Thai, Lao, Khmer, Burmese) give
   overlapping pairs of characters. So does Korean: no Snowball stemmer removes its particles. A
   single character stays as it is.
4. Stop words are dropped, then Snowball stems (English: Porter 2). Words of more than 64
   characters are dropped: they are encoded files. Numbers stay.
5. Since version 2 of the rules: "C++", "C#" (any letter) and ".NET" are words, "cplusplus",
   "csharp" and "dotnet". A camelCase word of ASCII gives its whole and then its parts, so that
   "parseXMLFile" is "parsexmlfile", "parse", "xml" and "file". A part of one letter stays with its
   neighbour. A name such as "PostgreSQL" has no parts, nor a word of more than eight, which is
   encoded data.

Text is split coarsely, in C, only where rule 2 always splits, and each distinct chunk is analysed
once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from functools import cache, lru_cache
from itertools import pairwise
from string import ascii_letters, ascii_uppercase, digits
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

import Stemmer

from lpisearch.model.documents import Document, Traits
from lpisearch.text.characters import (
    UNSPACED,
    located_pairs,
    normalise,
    origins,
    pairs,
    stretches,
    words,
)
from lpisearch.text.languages import NO_LANGUAGE, TokeniserSettings, stop_words
from lpisearch.text.traits import CHARACTERS, kind_of, language_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping


K = TypeVar("K", bytes, str)
V = TypeVar("V")

LONGEST_WORD = 64
BLOCK_BYTES = 1 << 20
"""A text is split into blocks of about this size: a list of all its words would be much larger."""
LONGEST_CACHED_CHUNK = 64
MOST_PARTS = 8
CASED_VERSION = 2
"""The first version of the rules to which capitals and signs matter."""
CACHED_CHUNKS = 300_000


class Tokeniser:
    """Splits text into tokens. One per thread: the stemmer and the caches are not shared."""

    def __init__(self, settings: TokeniserSettings | None = None) -> None:
        self.settings = settings or TokeniserSettings()
        own = self.settings.of_language()
        self._apostrophes = own.language == "english"
        self._stop_words = frozenset(map(normalise, stop_words(own.stop_words)))
        self._stem = _stemmer(own.language)
        self._others: dict[TokeniserSettings, Tokeniser] = {}
        self._of_name: dict[str, Tokeniser] = {}
        self._cased = self.settings.version >= CASED_VERSION
        keep = "'" if self._apostrophes else ""
        self._separate = _separators(keep=keep, cased=self._cased)
        self._piece = re.compile(rf"(?:[^\x00-\x7f]|[A-Za-z0-9{keep}])+")
        self._chunks = _Cache(self._analyse)
        self._keeps_beginnings = own.language in _KEEP_BEGINNINGS
        self._spans_of_chunk: _Cache[str, tuple[tuple[int, int, str], ...]] = _Cache(
            lambda chunk: tuple(self._located(chunk))
        )

    @property
    def cached(self) -> int:
        """How many chunks of text the caches of all languages have."""
        return len(self._chunks) + sum(one.cached for one in self._others.values())

    def of_language(self, name: str) -> Tokeniser:
        """Return the tokeniser for documents in a language ("": that of most)."""
        if not self.settings.is_mixed:
            return self
        if name not in self._of_name:
            settings = self.settings.of_language(name)
            if settings not in self._others:
                self._others[settings] = Tokeniser(settings)
            self._of_name[name] = self._others[settings]
        return self._of_name[name]

    def of_text(self, text: str) -> Tokeniser:
        """Return the tokeniser for a document that is not in the library."""
        if not self.settings.is_mixed:
            return self
        return self.of_language(language_of(text, self.settings.main))

    def tokens(self, text: str) -> list[str]:
        """Return the tokens in the order of the text."""
        return self.joined(text).split()

    def joined(self, text: str) -> str:
        """Return the tokens joined by single spaces: what a library stores and FTS5 indexes."""
        if self._has_names(text):
            text = _with_names_spelled(text)
        separated = text.encode("utf-8", "surrogatepass").translate(self._separate)
        if len(separated) <= BLOCK_BYTES:
            return self._joined(separated)
        return " ".join(filter(None, map(self._joined, _blocks(separated))))

    def stems(self, words: Iterable[str]) -> list[str]:
        """Return the token of each word in normal form; "" for a stop word."""
        return list(map(self._token, words))

    def spans(
        self, text: str, wanted: Collection[str] | None = None
    ) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, token): the same tokens, with their positions in the text as given.

        With `wanted`, only those tokens, and faster: few chunks may have one.
        """
        chunks: Iterable[tuple[int, str]]
        some = () if wanted is None or len(wanted) > _FEW else wanted
        if some and self._keeps_beginnings and len(lowered := text.lower()) == len(text):
            chunks = self._near(text, lowered, *_ways_to_begin(tuple(some)))
        elif wanted is None or self._has_names(text):
            chunks = ((match.start(), match.group()) for match in _CHUNK.finditer(text))
        else:
            chunks = self._with_any(text, wanted)
        for at, chunk in chunks:
            for start, end, token in self._spans_of_chunk[chunk]:
                if wanted is None or token in wanted:
                    yield at + start, at + end, token

    def _near(
        self, text: str, lowered: str, beginnings: Iterable[str], bridges: Collection[str]
    ) -> list[tuple[int, str]]:
        """Return what may have any of some tokens between white space, with where it begins.

        A word of ASCII begins as its stem does, if the stemmer leaves beginnings as they are. An
        apostrophe of English may stand between two of these letters, as in one of the `bridges`.
        """
        near: dict[int, str] = {}
        end, is_ascii = 0, text.isascii()
        for space in _ASCII_WHITE if is_ascii else _WHITE:
            lowered = lowered.replace(space, " ")
        for match in (_APOSTROPHE if is_ascii else _OTHER).finditer(text):
            at = match.start()
            if at >= end and (not is_ascii or lowered[at - 1 : at + 2] in bridges):
                start, end = _chunk_around(lowered, at)
                near[start] = text[start:end]
        for beginning in beginnings:
            at = lowered.find(beginning)
            while at >= 0:
                end = at + 1
                if not at or not lowered[at - 1].isalnum() or text[at].isupper():
                    start, end = _chunk_around(lowered, at)
                    near[start] = text[start:end]
                at = lowered.find(beginning, end)
        return sorted(near.items())

    def _with_any(self, text: str, wanted: Collection[str]) -> Iterator[tuple[int, str]]:
        """Yield the words that have any of some tokens, with where they begin; not for names."""
        sought = frozenset(wanted)
        encoded = text.encode("utf-8", "surrogatepass")
        separated = b" %b " % encoded.translate(self._separate)
        after = done = begun = 0
        for word in separated.split():
            tokens = self._chunks[word]
            if tokens in sought or (" " in tokens and not sought.isdisjoint(tokens.split())):
                at = separated.index(b" %b " % word, after)
                begun += len(encoded[done:at].decode("utf-8", "surrogatepass"))
                yield begun, word.decode("utf-8", "surrogatepass")
                done, after = at, at + len(word) + 1

    def _has_names(self, text: str) -> bool:
        return self._cased and any(sign.search(text) for sign, _ in _SIGNS)

    def _joined(self, separated: bytes) -> str:
        return " ".join(filter(None, map(self._chunks.__getitem__, separated.split())))

    def _analyse(self, chunk: bytes) -> str:
        if chunk.isalnum():  # of bytes: ASCII letters and digits only, so one word
            word = chunk.decode("ascii")
            if self._cased and not word.islower() and _HUMP.search(word):
                return " ".join(token for _, _, token in self._located_word(word))
            return self._token(word.lower())
        text = chunk.decode("utf-8", "surrogatepass")
        return " ".join(filter(None, map(self._tokens_of, _around_camel_case(text, self._cased))))

    def _tokens_of(self, part: tuple[int, str, bool]) -> str:
        _, text, is_camel_case = part
        if is_camel_case:
            return " ".join(token for _, _, token in self._located_word(text))
        tokens: list[str] = []
        for _, word, spaced in words(normalise(text), apostrophes=self._apostrophes):
            if spaced:
                tokens.append(self._token(word))
            else:
                tokens.extend(" ".join(pairs(run, LONGEST_WORD)) for run in stretches(word))
        return " ".join(filter(None, tokens))

    def _located(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield (start, end, token) of a text as given."""
        lower = (word := text.strip(_AROUND_WORD)).lower()
        is_plain = word.isalnum() and word.isascii() and lower != "net"  # .net is a name
        if is_plain and (word[1:] == lower[1:] or word.isupper()):
            start = text.index(word)
            if token := self._token(lower):
                yield start, start + len(word), token
            return
        if not self._cased or not _CASED.search(text):
            yield from self._located_piece(text)
            return
        done = 0
        for name in _NAMES.finditer(text):
            yield from self._located_pieces(text, done, name.start())
            if token := self._token(_name(name.group())):
                yield name.start(), name.end(), token
            done = name.end()
        yield from self._located_pieces(text, done, len(text))

    def _located_pieces(self, text: str, start: int, end: int) -> Iterator[tuple[int, int, str]]:
        for piece in self._piece.finditer(text, start, end):
            for at, part, is_camel_case in _around_camel_case(piece.group(), cased=True):
                locate = self._located_word if is_camel_case else self._located_piece
                for first, last, token in locate(part):
                    yield piece.start() + at + first, piece.start() + at + last, token

    def _located_piece(self, text: str) -> Iterator[tuple[int, int, str]]:
        normal = normalise(text)
        if text.isascii():  # only the case has changed
            yield from self._located_normal(normal)
            return
        starts, ends = origins(text, normal)
        for start, end, token in self._located_normal(normal):
            yield starts[start], ends[end - 1], token

    def _located_normal(self, normal: str) -> Iterator[tuple[int, int, str]]:
        for start, word, spaced in words(normal, apostrophes=self._apostrophes):
            if not spaced:
                for offset, pair in located_pairs(word):
                    if len(pair) <= LONGEST_WORD:
                        yield start + offset, start + offset + len(pair), pair
            elif token := self._token(word):
                yield start, start + len(word), token

    def _located_word(self, word: str) -> Iterator[tuple[int, int, str]]:
        """Yield a camelCase word, then its parts."""
        if len(word) > LONGEST_WORD:
            return
        for start, end in [(0, len(word)), *camel_case_parts(word)]:
            if token := self._token(word[start:end].lower()):
                yield start, end, token

    def _token(self, word: str) -> str:
        if len(word) > LONGEST_WORD or word in self._stop_words:
            return ""
        return self._stem(word).replace("'", "")


class _Cache(dict[K, V]):
    """Chunks of text → their tokens, each distinct chunk analysed once; bounded in memory."""

    def __init__(self, analyse: Callable[[K], V]) -> None:
        super().__init__()
        self._analyse: Callable[[K], V] = analyse

    def __missing__(self, chunk: K) -> V:
        tokens = self._analyse(chunk)
        if len(chunk) <= LONGEST_CACHED_CHUNK:
            if len(self) >= CACHED_CHUNKS:
                self.clear()
            self[chunk] = tokens
        return tokens


def _blocks(separated: bytes) -> Iterator[bytes]:
    """Yield a long text in pieces, split at separators."""
    start = 0
    while start < len(separated):
        end = separated.find(b" ", start + BLOCK_BYTES)
        end = len(separated) if end < 0 else end
        yield separated[start:end]
        start = end


_CHUNK = re.compile(r"\S+")
_WHITE = tuple(char for char in map(chr, range(0x3001)) if char.isspace() and char != " ")
_ASCII_WHITE = tuple(filter(str.isascii, _WHITE))
_OTHER = re.compile(r"[^\x00-\x26\x28-\x7f]")
_APOSTROPHE = re.compile("'")
_SPELLED_SIGNS = ("plusplus", "sharp", "dotnet")
_AROUND_WORD = '"(),-./:;<>?![]*_='
_FEW = 24  # tokens whose beginnings are found in less time than a text is split
_CHANGED = ("i", "e", "l", "y", "t")
# Languages whose stemmers change at most the last letter of what they leave of a word of ASCII.
_KEEP_BEGINNINGS = frozenset(
    {NO_LANGUAGE, "danish", "english", "norwegian", "portuguese", "spanish", "swedish"}
)


def _beginnings(token: str) -> tuple[str, ...]:
    """Return what is in every word of ASCII with a token, in lower case.

    Stemmers change these last letters: happy, happi; hoping, hope; ability, abl; dying, die.
    """
    if token.endswith(_SPELLED_SIGNS):
        return token, token.replace("plusplus", "++").replace("sharp", "#").replace("dot", ".")
    if token.endswith("ie"):
        return token[:-1], f"{token[0]}y"
    return (token[:-1] or token if token.endswith(_CHANGED) else token,)


@lru_cache(1000)
def _ways_to_begin(tokens: tuple[str, ...]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the beginnings of some tokens, and what an apostrophe within one stands between."""
    every = tuple({each: None for token in tokens for each in _beginnings(token)})
    return every, frozenset(f"{a}'{b}" for each in every for a, b in pairwise(each))


def _chunk_around(lowered: str, at: int) -> tuple[int, int]:
    """Return where what is between spaces around a position begins and ends."""
    end = lowered.find(" ", at)
    return lowered.rfind(" ", 0, at) + 1, len(lowered) if end < 0 else end


def _stemmer(language: str) -> Callable[[str], str]:
    if language == NO_LANGUAGE:
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(language, 0).stemWord  # 0: the cache is ours
    return stem


# RNAs and CX3CR1 have no hump; PostgreSQL and OpenSSL have one but are names.
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z]{2})")
_WORD_AND_CAPITALS = re.compile("[A-Z][a-z]+[A-Z]+[a-z]?")
_NAMES = re.compile(
    r"(?<![^\W_])(?:[Cc]\+\+|[A-Za-z]#(?![^\W_]))|(?<![\w.])\.[Nn][Ee][Tt](?![^\W_])"
)
# What a name cannot be without, and how many letters of it come before. Each begins with a sign,
# which is found fast.
_SIGNS = (
    (re.compile(r"\+\+(?<=[Cc]\+\+)"), 1),
    (re.compile(r"#(?<=[A-Za-z]#)"), 1),
    (re.compile(r"\.[Nn][Ee][Tt]"), 0),
)
_CASED = re.compile(rf"{_HUMP.pattern}|[+#]|\.[Nn][Ee]")


def _name(written: str) -> str:
    """Return the word for a name with signs."""
    return written.lower().replace("++", "plusplus").replace("#", "sharp").replace(".", "dot")


def _with_names_spelled(text: str) -> str:
    parts: list[str] = []
    done = 0
    for at in sorted(one.start() - back for sign, back in _SIGNS for one in sign.finditer(text)):
        if name := _NAMES.match(text, at):
            parts += text[done:at], f" {_name(name.group())} "
            done = name.end()
    return "".join([*parts, text[done:]]) if parts else text


def is_name(written: str) -> bool:
    """Tell a name with signs that is a word of its own, such as C++."""
    return _NAMES.fullmatch(written) is not None


def camel_case_parts(word: str) -> list[tuple[int, int]]:
    """Return the starts and ends of the parts of a camelCase word; none of any other.

    >>> camel_case_parts("parseXMLFile"), camel_case_parts("iPhone")
    ([(0, 5), (5, 8), (8, 12)], [])
    """
    edges = [0]
    if _WORD_AND_CAPITALS.fullmatch(word):
        return []
    for hump in _HUMP.finditer(word):
        if min(hump.start() - edges[-1], len(word) - hump.start()) > 1:
            edges.append(hump.start())
    if not 1 < len(edges) <= MOST_PARTS:
        return []
    return list(pairwise([*edges, len(word)]))


def _around_camel_case(text: str, cased: bool) -> Iterator[tuple[int, str, bool]]:  # noqa: FBT001
    """Split a chunk at its camelCase words; yield (start, part, whether it is such a word)."""
    done = 0
    if cased and _HUMP.search(text):
        for word in _camel_case().finditer(text):
            if _HUMP.search(word.group()):
                yield done, text[done : word.start()], False
                yield word.start(), word.group(), True
                done = word.end()
    yield done, text[done:], False


@cache
def _camel_case() -> Any:
    """Words of ASCII between characters that no normalisation makes part of a word."""
    import regex

    border = rf"[\p{{P}}\p{{Z}}{UNSPACED}]"
    apostrophe = "['’＇]"  # noqa: RUF001 (as wide as an ideograph)
    return regex.compile(
        rf"(?<!\w{apostrophe})(?<=\A|{border})[A-Za-z0-9]++(?=\Z|{border})(?!{apostrophe}\w)",
        regex.VERSION1,
    )


def _separators(*, keep: str, cased: bool) -> bytes:
    """Return a table for UTF-8: a space for all ASCII but letters and digits.

    It may be applied before NFKC: no separator becomes part of a word by normalisation, and lower
    case, which `cased` leaves for later, gives the same result before and after. Bytes above 127
    are unchanged.
    """
    separators = bytes(set(range(128)) - set(f"{ascii_letters}{digits}{keep}".encode()))
    capitals = b"" if cased else ascii_uppercase.encode()
    return bytes.maketrans(capitals + separators, capitals.lower() + b" " * len(separators))


class Tokenisers:
    """Creates a tokeniser when a thread first needs it; those of a thread that ended go on."""

    def __init__(self) -> None:
        self._thread, self._idle = local(), list[dict[TokeniserSettings, Tokeniser]]()

    def of(self, stored: Mapping[str, Any]) -> Tokeniser:
        """Return the tokeniser of this thread for the settings of a library or an index."""
        if not hasattr(self._thread, "own"):
            self._thread.own = _OfThread(self._idle)
        made: dict[TokeniserSettings, Tokeniser] = self._thread.own.made
        settings = TokeniserSettings.from_dict(stored)
        return made.get(settings) or made.setdefault(settings, Tokeniser(settings))


class _OfThread:
    def __init__(self, idle: list[dict[TokeniserSettings, Tokeniser]]) -> None:
        self._idle, self.made = idle, {}
        with suppress(IndexError):
            self.made = idle.pop()

    def __del__(self) -> None:
        self._idle.append(self.made)


def document_tokens(tokeniser: Tokeniser, document: Document) -> str:
    """Return the tokens of title and text; the words of the title count twice.

    A title that also begins the text is not added again, so it does not matter where a format keeps
    it. Counting the title twice was measured to help (docs/ranking.md).
    """
    title, text = document.title, document.text
    if tokeniser.settings.is_mixed:
        tokeniser = tokeniser.of_text(f"{title}\n{text}")
    if not title:
        return tokeniser.joined(text)
    titles = f"{title}\n" if _begins_with(text, title) else f"{title}\n{title}\n"
    return tokeniser.joined(titles + text)


_STATED = ("language", "lang")  # in the metadata of office files, books and pages


def analyse(
    document: Document, path: str, tokeniser: Tokeniser, language: str = ""
) -> tuple[str, Traits]:
    """Return the tokens and the traits of a document; its language is detected if not given."""
    if tokeniser.settings.is_mixed:
        if not language:
            metadata = document.metadata
            stated = next((metadata[name] for name in _STATED if name in metadata), "")
            text = f"{document.title}\n{document.text[:CHARACTERS]}"
            language = language_of(text, tokeniser.settings.main, str(stated))
        tokeniser = tokeniser.of_language(language)
    else:
        language = ""
    traits = Traits(language, *kind_of(document.path or path, document))
    return document_tokens(tokeniser, document), traits


def _begins_with(text: str, title: str) -> bool:
    start, title = text[: 2 * len(title) + 100].lstrip(), title.lstrip()
    same = start[:1] == title[:1]  # or the rest need not be looked at
    return same and " ".join(start.split()).startswith(" ".join(title.split()))


MOST_CHARACTERS = 200_000
"""The surface forms of a text are those of its beginning."""


def surface_forms(
    text: str, tokeniser: Tokeniser, wanted: Collection[str] | None = None
) -> dict[str, str]:
    """Return for each token (of `wanted`) the form in which a text writes it most often."""
    spans = tokeniser.spans(text[:MOST_CHARACTERS], wanted)
    return usual_forms((token, text[start:end]) for start, end, token in spans)


def usual_forms(every: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return for each token the most frequent of its forms, given one by one.

    Case is ignored in the count; of the ways to write a form, the most frequent is returned.
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    written: Counter[str] = Counter()
    for token, form in every:
        forms[token][form.casefold()] += 1
        written[form] += 1
    spelled: dict[str, str] = {}
    for form in sorted(written, key=lambda form: (written[form], form)):
        spelled[form.casefold()] = form
    return {
        token: spelled[max(counts, key=lambda form: (counts[form], form))]
        for token, counts in forms.items()
    }

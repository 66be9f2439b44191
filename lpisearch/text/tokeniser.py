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

Text is split coarsely, in C, only where rule 2 always splits, and each distinct chunk is analysed
once.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from string import ascii_letters, ascii_uppercase, digits
from threading import local
from typing import TYPE_CHECKING, Any, TypeVar

import Stemmer

from lpisearch.text.characters import located_pairs, normalise, origins, pairs, stretches, words
from lpisearch.text.languages import NO_LANGUAGE, TokeniserSettings, stop_words

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

    from lpisearch.model.documents import Document


K = TypeVar("K", bytes, str)
V = TypeVar("V")

LONGEST_WORD = 64
BLOCK_BYTES = 1 << 20
"""A text is split into blocks of about this size: a list of all its words would be much larger."""
LONGEST_CACHED_CHUNK = 64
CACHED_CHUNKS = 300_000


class Tokeniser:
    """Splits text into tokens. One per thread: the stemmer and the caches are not shared."""

    def __init__(self, settings: TokeniserSettings | None = None) -> None:
        self.settings = settings or TokeniserSettings()
        self._apostrophes = self.settings.language == "english"
        self._stop_words = frozenset(map(normalise, stop_words(self.settings.stop_words)))
        self._stem = _stemmer(self.settings.language)
        self._separate = _separators(keep="'" if self._apostrophes else "")
        self._chunks = _Cache(self._analyse)
        self._tokens_of_chunk = _Cache(self.tokens)

    def tokens(self, text: str) -> list[str]:
        """Return the tokens in the order of the text."""
        return self.joined(text).split()

    def joined(self, text: str) -> str:
        """Return the tokens joined by single spaces: what a library stores and FTS5 indexes."""
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

        With `wanted`, only those tokens, and faster: few words of a text are analysed in full.
        """
        has_none = None if wanted is None else frozenset(wanted).isdisjoint
        for chunk in _CHUNK.finditer(text):
            original = chunk.group()
            if has_none is not None and has_none(self._tokens_of_chunk[original]):
                continue
            normal = normalise(original)
            starts, ends = origins(original, normal)
            for start, end, token in self._located(normal):
                if wanted is not None and token not in wanted:
                    continue
                yield chunk.start() + starts[start], chunk.start() + ends[end - 1], token

    def _joined(self, separated: bytes) -> str:
        return " ".join(filter(None, map(self._chunks.__getitem__, separated.split())))

    def _analyse(self, chunk: bytes) -> str:
        if chunk.isalnum():  # of bytes: ASCII letters and digits only, so one word
            return self._token(chunk.decode("ascii"))
        normal = normalise(chunk.decode("utf-8", "surrogatepass"))
        tokens: list[str] = []
        for _, word, spaced in words(normal, apostrophes=self._apostrophes):
            if spaced:
                tokens.append(self._token(word))
            else:
                tokens.extend(" ".join(pairs(run, LONGEST_WORD)) for run in stretches(word))
        return " ".join(filter(None, tokens))

    def _located(self, normal: str) -> Iterator[tuple[int, int, str]]:
        for start, word, spaced in words(normal, apostrophes=self._apostrophes):
            if not spaced:
                for offset, pair in located_pairs(word):
                    if len(pair) <= LONGEST_WORD:
                        yield start + offset, start + offset + len(pair), pair
            elif token := self._token(word):
                yield start, start + len(word), token

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


def _stemmer(language: str) -> Callable[[str], str]:
    if language == NO_LANGUAGE:
        return str
    stem: Callable[[str], str] = Stemmer.Stemmer(language, 0).stemWord  # 0: the cache is ours
    return stem


def _separators(keep: str) -> bytes:
    """Return a table for UTF-8: ASCII in lower case, a space for all but letters and digits.

    It may be applied before NFKC: no separator becomes part of a word by normalisation, and lower
    case gives the same result before and after. Bytes above 127 are unchanged.
    """
    separators = bytes(set(range(128)) - set(f"{ascii_letters}{digits}{keep}".encode()))
    capitals = ascii_uppercase.encode()
    return bytes.maketrans(capitals + separators, capitals.lower() + b" " * len(separators))


class Tokenisers(local):
    """Creates a tokeniser when a thread first needs it, and caches it."""

    def __init__(self) -> None:
        self._made: dict[TokeniserSettings, Tokeniser] = {}

    def of(self, stored: Mapping[str, Any]) -> Tokeniser:
        """Return the tokeniser of this thread for the settings of a library or an index."""
        settings = TokeniserSettings.from_dict(stored)
        if settings not in self._made:
            self._made[settings] = Tokeniser(settings)
        return self._made[settings]


def document_tokens(tokeniser: Tokeniser, document: Document) -> str:
    """Return the tokens of title and text; the words of the title count twice.

    A title that also begins the text is not added again, so it does not matter where a format keeps
    it. Counting the title twice was measured to help (docs/ranking.md).
    """
    title, text = document.title, document.text
    if not title:
        return tokeniser.joined(text)
    titles = f"{title}\n" if _begins_with(text, title) else f"{title}\n{title}\n"
    return tokeniser.joined(titles + text)


def _begins_with(text: str, title: str) -> bool:
    start = text[: 2 * len(title) + 100]
    return " ".join(start.split()).startswith(" ".join(title.split()))


MOST_CHARACTERS = 200_000
"""The surface forms of a text are those of its beginning."""


def surface_forms(text: str, tokeniser: Tokeniser) -> dict[str, str]:
    """Return for each token of a text the form in which the text writes it most often.

    Case is ignored in the count; of the ways to write a form, the most frequent is returned.
    """
    forms: defaultdict[str, Counter[str]] = defaultdict(Counter)
    written: Counter[str] = Counter()
    for chunk, count in Counter(text[:MOST_CHARACTERS].split()).items():
        for start, end, token in tokeniser.spans(chunk):
            forms[token][chunk[start:end].casefold()] += count
            written[chunk[start:end]] += count
    spelled: dict[str, str] = {}
    for form in sorted(written, key=lambda form: (written[form], form)):
        spelled[form.casefold()] = form
    return {
        token: spelled[max(counts, key=lambda form: (counts[form], form))]
        for token, counts in forms.items()
    }

"""Terms by prefix, without accents, by edit distance; words as documents write them.

Terms are filtered as bytes first: only those whose letters leave a chance are compared in full.

An index stores two tables, so that nothing is folded when a library is opened: the words as
documents write them, each with the number of its documents, among which suggestions are looked up;
and the terms with accents, sorted by their spellings without.
"""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_left
from collections import Counter
from functools import cache, cached_property
from string import ascii_lowercase, ascii_uppercase
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from lpisearch.text.characters import fold, folded_spellings, normalise, words

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.text.tokeniser import Tokeniser


# Letters of a word that may differ in one of them, or in two.
_ONE_EDIT, _TWO_EDITS = 4, 7
# Another edit must be offset by 400 times the documents, another first letter by 20 times.
_EDIT = math.log(400)
_FIRST_LETTER = math.log(20)
_MARKED = 0x80  # bytes from here on are parts of letters beyond ASCII
_SHORTEST_STEM = 4
_ENDING = 5
_LETTER_OF_ENDING = 0.4


class Lines:
    """Sorted lines, found by bisection in a mapped file.

    `text` has them in UTF-8, each ended by a line feed; `starts` where each begins, and the end of
    the last.
    """

    def __init__(self, text: NDArray[np.uint8], starts: NDArray[np.integer[Any]]) -> None:
        self.text, self.starts = text, starts
        self.marked: dict[str, list[str]] | None = None

    @classmethod
    def of(cls, sorted_lines: Sequence[str]) -> Self:
        """Take lines that are sorted by their bytes."""
        encoded = [f"{line}\n".encode() for line in sorted_lines]
        starts = np.zeros(len(encoded) + 1, np.int64)
        np.cumsum([len(line) for line in encoded], out=starts[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), starts)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, number: int) -> str:
        return self._bytes(number)[:-1].decode()

    def __iter__(self) -> Iterator[str]:
        return iter(self.text.tobytes().decode().split("\n")[:-1])

    def position(self, line: bytes) -> int:
        """Return the number of the first line that is not before another."""
        return bisect_left(range(len(self)), line, key=self._bytes)

    def beginning_with(self, begin: str) -> range:
        """Return the numbers of the lines that begin with a text."""
        start = begin.encode("utf-8", "surrogatepass")
        return range(self.position(start), self.position(start + b"\xff"))

    def with_lines(self, lines: Sequence[str]) -> tuple[Self, NDArray[np.int64]]:
        """Return the same with sorted lines that are new, and before which line each comes."""
        encoded = [f"{line}\n".encode() for line in lines]
        at = np.array([self.position(line) for line in encoded], np.int64)
        own = [len(line) for line in encoded]
        sizes = np.insert(np.diff(self.starts), at, own)
        text = np.frombuffer(b"".join(encoded), np.uint8)
        text = np.insert(self.text, np.repeat(self.starts[at], own), text)
        return type(self)(text, np.concatenate([[0], np.cumsum(sizes)])), at

    @cached_property
    def letters(self) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
        """The letters of each line, a bit each, and how many characters it has."""
        starts = self.starts[:-1]
        continued = (self.text & 0xC0) == _MARKED
        more = np.add.reduceat(continued, starts, dtype=np.int64)
        return np.bitwise_or.reduceat(_bits(self.text), starts), np.diff(self.starts) - 1 - more

    @cached_property
    def beyond_ascii(self) -> list[str]:
        """The lines with a letter beyond ASCII."""
        marked = np.flatnonzero(self.text >= _MARKED)
        numbers = np.unique(np.searchsorted(self.starts, marked, "right") - 1)
        return [self[number] for number in numbers.tolist()]

    def _bytes(self, number: int) -> bytes:
        return self._memory[self._bounds[number] : self._bounds[number + 1]].tobytes()

    @cached_property
    def _memory(self) -> memoryview:
        return self.text.data

    @cached_property
    def _bounds(self) -> memoryview:
        return self.starts.data


class Words:
    """All terms, or those with some prefixes, or words as they are written.

    `frequencies` has the number of documents of each. `spellings` has the terms with accents, each
    after its spelling without and a space; without it, all are folded when one is first needed.
    """

    def __init__(
        self,
        lines: Lines,
        frequencies: NDArray[np.integer],
        tokeniser: Tokeniser,
        spellings: Lines | None = None,
    ) -> None:
        self._lines = lines
        self._frequencies = frequencies
        self._tokeniser = tokeniser
        self._spelled = spellings

    @classmethod
    def of_terms(cls, terms: Iterable[tuple[str, int]], tokeniser: Tokeniser) -> Self:
        """Take terms with the number of their documents."""
        pairs = sorted(terms, key=lambda pair: f"{pair[0]}\n".encode())
        frequencies = np.array([documents for _, documents in pairs], np.int64)
        return cls(Lines.of([term for term, _ in pairs]), frequencies, tokeniser)

    def __len__(self) -> int:
        return len(self._lines)

    def documents(self, term: str) -> int:
        """Return the number of documents of a term."""
        number = self._lines.position(f"{term}\n".encode("utf-8", "surrogatepass"))
        there = number < len(self) and self._lines[number] == term
        return int(self._frequencies[number]) if there else 0

    def spelled_like(self, token: str, typed: str = "") -> tuple[str, ...]:
        """Return the other terms that are equal without accents: "muller" for "Müller".

        Also in German and Danish spelling: "mueller". `typed` is the word before it was stemmed.
        """
        spellings = self._spellings(token)
        if fold(typed) != normalise(typed):  # else it may be the stem of another word
            spellings |= self._spellings(typed)
        plain = {term for term in spellings if self.documents(term)}
        marked = {term for spelling in spellings for term in self._with_accents(spelling)}
        return tuple(sorted((plain | marked) - {token}))

    def beginning_with(self, prefix: str) -> tuple[str, ...]:
        """Return the terms of all words with a prefix, most documents first.

        Terms are stems: if none has the prefix, use the stem of the prefix as a word, or the
        longest stem that begins the prefix.
        """
        numbers = self._lines.beginning_with(prefix)
        order = np.argsort(-self._frequencies[numbers.start : numbers.stop], kind="stable")
        terms = [self._lines[number] for number in (order + numbers.start).tolist()]
        stems = [stem for stem in self._tokeniser.tokens(prefix) if self.documents(stem)]
        terms += [stem for stem in stems if stem not in terms]
        if not terms:
            shorter = (prefix[:end] for end in range(len(prefix) - 1, _SHORTEST_STEM - 1, -1))
            terms = [stem for stem in shorter if self.documents(stem)][:1]
        return tuple(terms)

    def nearest(self, word: str, limit: int) -> list[tuple[str, float]]:
        """Return the nearest terms of a misspelt word with their edit distances, best first.

        Terms are stems: compare them with the stem of the word, and with the word without its last
        letters, each of which counts against a term.
        """
        costs: dict[int, float] = {}
        for form, ending in [
            (word, _ENDING),
            *((stem, 0) for stem in self._tokeniser.tokens(word)),
        ]:
            for number, cost in self._near(form, ending):
                costs[number] = min(cost, costs.get(number, cost))
        return [(self._lines[number], costs[number]) for number in self._best(word, costs, limit)]

    def nearest_written(self, word: str, limit: int, edits: int) -> list[str]:
        """Return the nearest of words as they are written, at most so many edits away."""
        costs = {number: cost for number, cost in self._near(word, 0) if cost <= edits}
        return [self._lines[number] for number in self._best(word, costs, limit)]

    def _best(self, word: str, costs: Mapping[int, float], limit: int) -> list[int]:
        documents = self._frequencies
        ranked = sorted(
            (-merit(word, self._lines[number], cost, int(documents[number])), number)
            for number, cost in costs.items()
        )
        return [number for _, number in ranked[:limit]]

    def _near(self, word: str, ending: int) -> list[tuple[int, float]]:
        """Return the numbers of similar terms, and the edit distance of each."""
        limit = allowed_edits(word)
        if not limit or not len(self):
            return []
        letters, lengths = self._lines.letters
        own = np.bitwise_or.reduce(_bits(np.frombuffer(f"{word}\n".encode(), np.uint8)))
        chance = np.bitwise_count(letters & ~own) <= limit * (1 if word.isascii() else 2)
        chance &= lengths <= len(word) + limit
        chance &= lengths >= max(len(word) - limit - ending, _SHORTEST_STEM - 1)
        numbers = np.flatnonzero(chance).tolist()
        terms = [self._lines[number] for number in numbers]
        edits = edit_distances(word, terms, ending)
        return [
            (number, distance + _LETTER_OF_ENDING * max(len(word) - len(term), 0) * bool(ending))
            for number, term, distance in zip(numbers, terms, edits, strict=True)
            if distance <= limit
        ]

    def _spellings(self, word: str) -> set[str]:
        """Return a word without accents, and the stems of that if it had any."""
        normal = normalise(word)
        folded = set(folded_spellings(normal))
        stems = (stem for word in folded - {normal} for stem in self._tokeniser.tokens(word))
        return {*folded, *stems} - {""}

    def _with_accents(self, spelling: str) -> Iterable[str]:
        """Return the terms with accents that are spelled so without."""
        if self._spelled is not None:
            lines = self._spelled.beginning_with(f"{spelling} ")
            return [self._spelled[number].partition(" ")[2] for number in lines]
        if self._lines.marked is None:
            self._lines.marked = plain_spellings(self._lines.beyond_ascii, self._tokeniser)
        return self._lines.marked.get(spelling, ())


def plain_spellings(terms: list[str], tokeniser: Tokeniser) -> dict[str, list[str]]:
    """Return the terms with accents, by their spellings without and by the stems of these."""
    by_spelling: dict[str, list[str]] = {}
    # All at once is many times as fast as one after the other.
    for spelled in map(str.split, folded_spellings("\n".join(terms))):
        for term, plain, stem in zip(terms, spelled, tokeniser.stems(spelled), strict=True):
            if plain != term:
                for spelling in {plain, stem} - {""}:
                    by_spelling.setdefault(spelling, []).append(term)
    return by_spelling


MOST_WRITTEN = 200_000
"""Words of the table of an index: those in the most documents."""
_MOST_COUNTED = 3_000_000
_LONGEST_WRITTEN = 40
_SHORTEST_WRITTEN = 3
_LOWER = bytes.maketrans(
    ascii_uppercase.encode()
    + bytes(set(range(128)) - set(f"{ascii_uppercase}{ascii_lowercase}'".encode())),
    ascii_lowercase.encode() + b" " * (128 - 53),
)
WRITTEN = ("written_words", "written_starts", "written_documents")
SPELLED = ("plain_spellings", "plain_starts")


def count_written(texts: Iterable[str]) -> Counter[str]:
    """Count the texts that contain each word, in the form that they write, without digits.

    Scripts without spaces between words have none. Where there are very many, the rarest are
    dropped on the way.
    """
    chunks: Counter[bytes] = Counter()
    for text in texts:
        chunks.update(set(text.encode("utf-8", "surrogatepass").translate(_LOWER).split()))
        if len(chunks) > _MOST_COUNTED:
            chunks = Counter({chunk: count for chunk, count in chunks.items() if count > 1})
    counts: Counter[str] = Counter()
    for chunk, count in chunks.items():
        normal = normalise(chunk.decode("utf-8", "surrogatepass"))
        for _, word, spaced in words(normal, apostrophes=True):
            # "Anna's" and "l'amour" are words with something before or behind; "isn't" is not.
            for part in word.split("'") if spaced and not word.endswith("'t") else ():
                if part.isalpha() and _SHORTEST_WRITTEN <= len(part) <= _LONGEST_WRITTEN:
                    counts[part] += count
    return counts


def spelling_arrays(
    written: Mapping[str, int], terms: Lines, tokeniser: Tokeniser
) -> dict[str, NDArray[Any]]:
    """Return the tables of an index: its words as they are written, its terms with accents."""
    most = heapq.nlargest(MOST_WRITTEN, written, key=lambda word: (written[word], word))
    most.sort(key=lambda word: f"{word}\n".encode())
    lines = Lines.of(most)
    documents = np.array([written[word] for word in most], np.int32)
    by_spelling = plain_spellings(terms.beyond_ascii, tokeniser)
    pairs = {f"{plain} {term}" for plain, own in by_spelling.items() for term in own}
    plain = Lines.of(sorted(pairs, key=lambda line: f"{line}\n".encode()))
    tables = (lines.text, lines.starts, documents, plain.text, plain.starts)
    return dict(zip((*WRITTEN, *SPELLED), tables, strict=True))


def with_written(
    lines: Lines, documents: NDArray[np.int32], written: Mapping[str, int]
) -> dict[str, NDArray[Any]]:
    """Return the table of written words with those of more documents."""
    documents, new = documents.copy(), []
    for word, count in written.items():
        at = lines.position(f"{word}\n".encode())
        if at < len(lines) and lines[at] == word:
            documents[at] += count
        else:
            new.append(word)
    new.sort(key=lambda word: f"{word}\n".encode())
    every, behind = lines.with_lines(new)
    documents = np.insert(documents, behind, [written[word] for word in new])
    tables = (every.text, every.starts, documents)
    if len(documents) > MOST_WRITTEN:
        stays = np.ones(len(documents), np.bool_)
        stays[np.argsort(documents, kind="stable")[: len(documents) - MOST_WRITTEN]] = False
        sizes = np.diff(every.starts)
        starts = np.concatenate([[0], np.cumsum(sizes[stays])])
        tables = (every.text[np.repeat(stays, sizes)], starts, documents[stays])
    return dict(zip(WRITTEN, tables, strict=True))


def with_spelled(lines: Lines, terms: Sequence[str], tokeniser: Tokeniser) -> dict[str, Any]:
    """Return the table of terms with accents with those of new terms."""
    by_spelling = plain_spellings([term for term in terms if not term.isascii()], tokeniser)
    pairs = {f"{plain} {term}" for plain, own in by_spelling.items() for term in own}
    every, _ = lines.with_lines(sorted(pairs, key=lambda line: f"{line}\n".encode()))
    return dict(zip(SPELLED, (every.text, every.starts), strict=True))


def allowed_edits(word: str) -> int:
    """Return how many letters another spelling may differ in: two in a word of 7 or more."""
    return (len(word) >= _ONE_EDIT) + (len(word) >= _TWO_EDITS)


def merit(word: str, near: str, edits: float, documents: int) -> float:
    """Return how probable another word is: few edits, many documents."""
    other_letter = near[:1] != word[:1]
    return math.log1p(documents) - _EDIT * edits - _FIRST_LETTER * other_letter


def edit_distances(word: str, terms: Sequence[str], ending: int = 0) -> list[int]:
    """Return the edit distance (with transpositions) of a word to each term.

    Damerau and Levenshtein's distance in which no letter is edited twice. Up to `ending` letters at
    the end of the word may be dropped at no cost.
    """
    if not terms:
        return []
    longest = max(map(len, terms))
    codes = np.array(terms, dtype=f"U{longest}").view(np.uint32).reshape(len(terms), longest)
    typed = [ord(letter) for letter in word]
    lengths = [len(term) for term in terms]
    beyond = longest + len(word)
    least = np.array(lengths if ending >= len(word) else [beyond] * len(terms), np.int16)
    before = np.zeros((longest + 1, len(terms)), np.int16)
    row = np.repeat(np.arange(longest + 1, dtype=np.int16)[:, np.newaxis], len(terms), axis=1)
    for at, letter in enumerate(typed):
        earlier, before, row = before, row, np.empty_like(row)
        row[0] = at + 1
        for column in range(longest):
            same = codes[:, column] == letter
            best = np.minimum(before[column + 1] + 1, row[column] + 1)
            best = np.minimum(best, before[column] + ~same)
            if at and column:
                swapped = (codes[:, column] == typed[at - 1]) & (codes[:, column - 1] == letter)
                best = np.where(swapped, np.minimum(best, earlier[column - 1] + 1), best)
            row[column + 1] = best
        if at + 1 >= len(typed) - ending:
            least = np.minimum(least, row[lengths, np.arange(len(terms))])
    return [int(edits) for edits in least]


def _bits(letters: NDArray[np.uint8]) -> NDArray[np.uint64]:
    return np.left_shift(np.uint64(1), (letters & 63).astype(np.uint64))


# Pairs of British and American spellings in which rules would also change other words.
_PAIRS = """
    aeroplane airplane, aluminium aluminum, artefact artifact, axe ax, carburettor carburetor,
    cosy cozy, doughnut donut, draught draft, enquiry inquiry, grey gray, gaol jail,
    jewellery jewelry, kerb curb, mum mom, plough plow, programme program, pyjamas pajamas,
    sceptic skeptic, sceptical skeptical, tyre tire, whisky whiskey, woollen woolen,
    yoghurt yogurt, skilful skillful, wilful willful, fulfil fulfill, enrol enroll,
    instalment installment, manoeuvre maneuver, mould mold, moult molt, smoulder smolder,
    licence license, practise practice, defence defense, offence offense, pretence pretense,
    smelt smelled, spelt spelled
    """
# Forms that no rule for endings joins. Those that are common words of their own (left, saw) are not
# among them.
_IRREGULAR = """
    bend bent, bite bitten, bleed bled, break broke broken, bring brought, build built, burn burnt,
    buy bought, catch caught, child children, choose chose chosen, cling clung, come came,
    creep crept, deal dealt, dig dug, draw drew drawn, dream dreamt, drink drank drunk,
    drive drove driven, eat ate eaten, fall fell fallen, feed fed, fight fought, find found,
    flee fled, fly flew flown, foot feet, forget forgot forgotten, freeze froze frozen,
    give gave given, go went gone, goose geese, grow grew grown, half halves, hang hung,
    hear heard, hide hid hidden, hold held, keep kept, kneel knelt, knife knives, know knew known,
    leaf leaves, leap leapt, learn learnt, lend lent, life lives, lose lost, make made, man men,
    meet met, melt molten, mouse mice, pay paid, prove proven, ride rode ridden, ring rang rung,
    run ran, say said, seek sought, sell sold, send sent, shake shook shaken, shelf shelves,
    shine shone, shoot shot, shrink shrank shrunk, sing sang sung, sink sank sunk, sit sat,
    sleep slept asleep, slide slid, spend spent, spill spilt, spin spun, spoil spoilt, stand stood,
    steal stole stolen, stick stuck, sting stung, strike struck, swear swore sworn, sweep swept,
    swell swollen, swim swam swum, swing swung, take took taken, teach taught, tear tore torn,
    tell told, think thought, throw threw thrown, tooth teeth, understand understood,
    wake woke woken, wear wore worn, weave wove woven, win won, wolf wolves, woman women,
    write wrote written
    """
# Parts that are spelled differently: British, American, what may be before and after them.
_VERB = "(?:e|es|ed|er|ers|ing|able|ation|ations)"
_PARTS = (
    (
        "our",
        "or",
        "[aeiou].*[^aeiou]",
        "(?:s|ed|ing|ings|ful|less|able|ite|al|hood|er|ers|y|ism|ist)?",
    ),
    ("is", "iz", "..", _VERB),
    ("ys", "yz", "l", _VERB),
    ("re", "er", "[bt]", "s?"),
    ("red", "ered", "[bt]", ""),
    ("ring", "ering", "[bt]", ""),
    ("logue", "log", "[ao]", "s?"),
    ("ell", "el", "[aeiou].*[^aeiou]", "(?:ed|ing|ings|er|ers|ous)"),
    ("all", "al", "[aeiou].*[^aeiou]", "(?:ed|ing|ings|er|ers)"),
    ("aem", "em", "(?:^h|^an|leuk|isch|glyc)", ".*"),
    ("aesth", "esth", "^an", ".*"),
    ("aeo", "eo", "^(?:arch|pal)", ".*"),
    ("paed", "ped", "(?:^|encyclo|ortho)", ".*"),
    ("gynaec", "gynec", "^", ".*"),
    ("oe", "e", "^", "(?:str|soph|dem).*"),
    ("coel", "cel", "^", "iac.*"),
    ("foet", "fet", "^", ".*"),
    ("rrhoea", "rrhea", "", ".*"),
)


# Endings of English words that stemmers leave, longest first: adjectives, comparatives, verbs.
_DERIVED = ("iness", "ation", "iest", "less", "ness", "ment", "ious", "ier", "est", "ful", "ish",
            "ous", "ise", "ize", "al", "en", "er", "ic", "ly", "y")  # fmt: skip
_SHORTEST_BASE = 3


def english_bases(word: str) -> tuple[str, ...]:
    """Return what an English word in lower case may be derived from; some are not words.

    >>> [base for base in english_bases("nervous") if base in {"nerve", "nerves"}]
    ['nerve']
    >>> "fog" in english_bases("foggy"), "ice" in english_bases("icy")
    (True, True)
    """
    bases: list[str] = []
    for ending in _DERIVED:
        base = word.removesuffix(ending)
        if base == word:
            continue
        bases += (base, f"{base}e", f"{base}y")
        if base[-1:] == base[-2:-1]:
            bases.append(base[:-1])
    others = dict.fromkeys(base for base in bases if base != word)
    return tuple(base for base in others if len(base) >= _SHORTEST_BASE)


def english_variants(word: str) -> tuple[str, ...]:
    """Return other forms of an English word in lower case that have other stems.

    They are its spellings in British and American English, and its irregular forms. Some results
    are not words: keep those that documents contain.

    >>> english_variants("tyres"), english_variants("color"), english_variants("realised")
    (('tires',), ('colour',), ('realized',))
    >>> english_variants("mice"), english_variants("freezing")
    (('mouse',), ('froze', 'frozen'))
    """
    others = [other for end in ("", "s", "d", "ed") for other in _paired(word, end)]
    stem = word.removesuffix("ing")
    stems = () if stem == word else (stem, f"{stem}e")
    for form in dict.fromkeys((word, word.removesuffix("s"), *stems)):
        others += _irregular().get(form, ())
    for pattern, part in _patterns():
        if match := pattern.fullmatch(word):
            others.append(f"{match[1]}{part}{match[2]}")
    return tuple(dict.fromkeys(others))


def _paired(word: str, ending: str) -> Iterable[str]:
    whole = word.removesuffix(ending)
    return (other + ending for other in _pairs().get(whole, ()) if whole + ending == word)


@cache
def _pairs() -> dict[str, tuple[str, ...]]:
    pairs = [pair.split() for pair in _PAIRS.split(",")]
    return {one: (other,) for british, american in pairs
            for one, other in ((british, american), (american, british))}  # fmt: skip


@cache
def _irregular() -> dict[str, list[str]]:
    groups = [group.split() for group in _IRREGULAR.split(",")]
    return {form: [other for other in forms if other != form] for forms in groups for form in forms}


@cache
def _patterns() -> list[tuple[re.Pattern[str], str]]:
    return [
        (re.compile(rf"\A(.{{0,40}}{before}){part}({after})"), other)
        for british, american, before, after in _PARTS
        for part, other in ((british, american), (american, british))
    ]

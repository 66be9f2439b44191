"""Snippets: the window of a text with the words of a query, or the nearest in meaning.

Words are compared as tokens, so that "baking" marks "bakes". The weight of a window is that of its
distinct tokens in the query; repeats add a fifth at most. The tokens of the query in a stretch of
text bound the weight of its windows, so only the stretches that may contain the best are searched.
Only the first `MOST_CHARACTERS` of a text are searched.

Without a linear map, each stretch gets a vector as a document would, and the one with the largest
cosine is shown. No word is marked, because no single word is the reason.
"""

from __future__ import annotations

from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from lpisearch.model.answers import Passage
from lpisearch.numeric.rows import SparseRows
from lpisearch.text.tokeniser import LONGEST_WORD, MOST_CHARACTERS, Tokeniser

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.search.compounds import Compound
    from lpisearch.text.characters import WrittenPhrase


CUT = "…"
_MOST_PAIRS = 6  # of stretches that are searched closely; one is usually enough
_REPEATS = 0.2
_ROUNDED = 1 - 1e-9
_MOST_FOR_REPEATS = 1 + _REPEATS
_SENTENCE_ENDS = (". ", "! ", "? ", ": ", "。", "！", "？")  # noqa: RUF001 (full-width signs)


class Sought(NamedTuple):
    """Phrases of which the first is shown, and compounds of the query."""

    phrases: Sequence[WrittenPhrase | Compound] = ()
    compounds: Sequence[Compound] = ()


def snippet(
    text: str,
    tokeniser: Tokeniser,
    words: Mapping[str, float],
    title: str = "",
    *,
    length: int = 200,
    most_marked: int | None = None,
    sought: Sought | None = None,
) -> Passage:
    """Return the window with the largest weight of tokens, or the beginning if it has none.

    It has `length` characters at most, without the "…" at a cut. The title is not repeated at the
    beginning. Only the `most_marked` heaviest tokens are marked, if given. The first phrase that
    is `sought` and occurs is shown, and compounds are marked as wholes.
    """
    sought = sought or Sought()
    whole = (line := Line.of_text(text, title)).whole
    quoted = [span for phrase in sought.phrases if (span := phrase.find(whole))]
    weights = {token: weight for token, weight in words.items() if weight > 0}
    every = [*tokeniser.spans(whole, weights)]
    best = [(*quoted[0], "")] if quoted else _best_window(whole, every, weights, length)
    start, end = _grown(whole, best, length) if best else beginning(whole, 0, length)
    if whole[max(start - 1, 0) : start].strip() or whole[end : end + 1].strip():  # a cut word
        cut = tokeniser.spans(whole[start:end], weights)
        tokens = [(start + first, start + last, token) for first, last, token in cut]
    else:
        tokens = [token for token in every if start <= token[0] and token[1] <= end]
    if most_marked is not None:
        present = {term for _, _, term in tokens}
        strongest = sorted(present, key=lambda term: (-weights[term], term))[:most_marked]
        tokens = [token for token in tokens if token[2] in strongest]
    wholes = (span for compound in sought.compounds for span in compound.spans(whole))
    inside = [span for span in (*quoted, *wholes) if start <= span[0] and span[1] <= end]
    marks = sorted([*inside, *((first, last) for first, last, _ in tokens)])
    return shown(line, start, end, _joined(marks))


class Line(NamedTuple):
    """A text, the searched beginning of it on one line, and the same without its title."""

    text: str
    folded: str
    whole: str

    @classmethod
    def of_text(cls, text: str, title: str) -> Self:
        """Replace white space by single spaces, and leave out the title at the beginning."""
        line = " ".join(text[:MOST_CHARACTERS].split())
        return cls(text, line, _without_title(line, " ".join(title.split())))

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Return where a window of the line without the title is in the text."""
        window = self.whole[start:end].strip()
        if not window:
            return 0, 0
        start += len(self.folded) - len(self.whole) + self.whole[start:end].startswith(" ")
        first = unfolded(self.text, self.folded, start)
        return first, unfolded(self.text, window, len(window) - 1, first) + 1


def unfolded(text: str, line: str, at: int, begun: int = 0) -> int:
    """Return where a character of a text from some position on, on one line, is in the text."""
    start = line.rfind(" ", 0, at) + 1
    end = line.find(" ", at)
    word = line[start:end] if end > 0 else line[start:]
    # Only white space differs, so a word is the same one of its kind in both.
    place = text.index(word, begun)
    for _ in range(line.count(word, 0, start)):
        place = text.index(word, place + len(word))
    return place + at - start


def stretches(text: str, length: int) -> Iterator[tuple[int, int]]:
    """Cut a text at spaces into parts longer than a window; a very long word is cut, too."""
    start = 0
    while start < len(text):
        least = start + max(length, 1)
        space = text.find(" ", least, least + LONGEST_WORD)
        end = space if space > 0 else min(least + LONGEST_WORD, len(text))
        yield start, end
        start = end


def beginning(text: str, start: int, length: int) -> tuple[int, int]:
    """Return a window from a position that begins and ends with whole words."""
    start += text[start : start + 1].isspace()
    return start, _cut_after(text, start, length)


def shown(line: Line, start: int, end: int, marks: Iterable[tuple[int, int]] = ()) -> Passage:
    """Return a window of a line without the title, with "…" where it was cut."""
    before = CUT if start > 0 else ""
    after = CUT if end < len(line.whole) or len(line.text) > MOST_CHARACTERS else ""
    shift = len(before) - start
    return Passage(
        f"{before}{line.whole[start:end]}{after}",
        tuple((first + shift, last + shift) for first, last in marks),
        *line.span(start, end),
    )


def semantic_weights(
    index: SubspaceIndex, query_vector: NDArray[np.floating], tokens: Iterable[str]
) -> dict[str, float]:
    """Return what each term of a document adds to its cosine with a query, if it is positive.

    By the linear map, a document's vector is the sum of its terms' scaled loadings (documents are
    ROWS; columns in the papers), so a cosine is the sum of one number for each term.
    """
    columns, counts, _ = index.vocabulary.count(tokens)
    scales = np.asarray(index.scales, np.float64)  # the square of a small float32 is 0
    rows = index.packed_loadings.at(columns) * scales
    weights = index.weighting.weigh_query(columns, counts)
    length = float(np.linalg.norm(weights @ rows)) or 1.0
    shares = weights * (rows @ query_vector) / length
    terms = index.vocabulary.terms
    return {
        terms[column]: share
        for column, share in zip(columns.tolist(), shares.tolist(), strict=True)
        if share > 0
    }


# The start and the end of a token of the query in the folded text, and its term.
_Token = tuple[int, int, str]


def _without_title(text: str, title: str) -> str:
    if not title or not text.startswith(title):
        return text
    rest = text[len(title) :]
    # "Bread" does not begin "Breadth first".
    return rest.lstrip(" .:;,-–—|") or text if not rest[:1].isalnum() else text


def _best_window(
    text: str, every: Sequence[_Token], weights: Mapping[str, float], length: int
) -> Sequence[_Token]:
    """Return the tokens in the window with the largest weight, the first of equals."""
    if not every or every[-1][1] - every[0][0] <= length:
        return every
    parts: list[Sequence[_Token]] = []
    placed = 0
    for _, end in stretches(text, length):
        first = placed
        while placed < len(every) and every[placed][0] < end:
            placed += 1
        parts.append(every[first:placed])
        if placed == len(every):
            break
    # No window is longer than a stretch, so each lies in one or in two adjacent ones.
    pairs = [[*first, *second] for first, second in pairwise([*parts, ()]) if first or second]
    most = [sum(map(weights.__getitem__, {term for _, _, term in own})) for own in pairs]
    best: Sequence[_Token] = ()
    best_weight = 0.0
    for number in sorted(range(len(pairs)), key=lambda number: -most[number])[:_MOST_PAIRS]:
        if most[number] * _MOST_FOR_REPEATS <= best_weight:
            break
        if not best or _weight(pairs[number], weights) > best_weight:
            best, best_weight = _heaviest(pairs[number], weights, length, (best, best_weight))
    return best


def _heaviest(
    tokens: Sequence[_Token],
    weights: Mapping[str, float],
    length: int,
    best: tuple[Sequence[_Token], float],
) -> tuple[Sequence[_Token], float]:
    """Return the first of the heaviest windows, and its weight, or what is as good already.

    A window begins at a token, is the longest one, and is not inside of the one before.
    """
    sums = [0.0, *accumulate(weights[term] for _, _, term in tokens)]
    end = last = 0
    for start, (begun, _, _) in enumerate(tokens):
        end = max(end, start + 1)  # a word longer than the window is a window, too
        while end < len(tokens) and tokens[end][1] - begun <= length:
            end += 1
        if end > last and sums[end] - sums[start] > best[1] * _ROUNDED:  # repeats weigh less
            weight = _weight(tokens[start:end], weights)
            best = (tokens[start:end], weight) if weight > best[1] else best
        last = end
    return best


def _weight(window: Iterable[_Token], weights: Mapping[str, float]) -> float:
    counts: dict[str, int] = {}
    for _, _, term in window:
        counts[term] = counts.get(term, 0) + 1
    most = _MOST_FOR_REPEATS
    return sum(weights[term] * (most - _REPEATS / times) for term, times in counts.items())


def _grown(text: str, best: Sequence[_Token], length: int) -> tuple[int, int]:
    """Return a window of the full length around the words, from the start of a sentence if near."""
    start, end = best[0][0], max(last for _, last, _ in best)
    slack = max(length - (end - start), 0)
    earliest = max(start - slack, 0)
    ends = ((text.rfind(sign, earliest, start), len(sign)) for sign in _SENTENCE_ENDS)
    first = max((at + size for at, size in ends if at >= 0), default=0)
    if not first and earliest:
        first = _cut_before(text, start - slack // 2, start)
    return first, max(_cut_after(text, first, length), end)


def _cut_before(text: str, at: int, start: int) -> int:
    """Return where the first whole word begins, or the position itself without a space."""
    return text.find(" ", at - 1, start) + 1 or at


def _cut_after(text: str, start: int, length: int) -> int:
    """Return where the last whole word ends, or the position itself without a space."""
    end = start + length
    if end >= len(text):
        return len(text)
    space = text.rfind(" ", start, end + 1)
    return space if space > start else end


def _joined(marks: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join marks that overlap, as pairs of characters do in scripts without spaces."""
    joined: list[tuple[int, int]] = []
    for start, end in marks:
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return joined


# About 4,000 characters: placing a stretch can take a millisecond.
MOST_STRETCHES = 20


def placed_snippet(
    index: SubspaceIndex,
    query_vector: NDArray[np.floating],
    text: str,
    tokeniser: Tokeniser,
    *,
    length: int = 200,
    title: str = "",
) -> Passage:
    """Return the stretch of a text that is nearest to a query, or the beginning."""
    whole = (line := Line.of_text(text, title)).whole
    bounds = list(islice(stretches(whole, length), MOST_STRETCHES))
    rows = _rows(index, [tokeniser.tokens(whole[start:end]) for start, end in bounds])
    cosines = index.project_weights(rows) @ query_vector
    best = int(np.argmax(cosines)) if bounds else 0
    start = bounds[best][0] if bounds and cosines[best] > 0 else 0
    return shown(line, *beginning(whole, start, length))


def _rows(index: SubspaceIndex, texts: Sequence[Sequence[str]]) -> SparseRows:
    """Weigh the tokens of each stretch as those of a document."""
    counted = [index.vocabulary.count(tokens) for tokens in texts]
    weights = [index.weighting.weigh_query(own.indices, own.counts) for own in counted]
    return SparseRows(
        indptr=np.cumsum([0, *map(len, weights)]),
        indices=np.concatenate([np.empty(0, np.int32), *(own.indices for own in counted)]),
        data=np.concatenate([np.empty(0, np.float32), *weights]),
        n_terms=index.n_terms,
    )

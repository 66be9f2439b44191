"""Snippets: the window of a text with the words of a query, or the nearest in meaning.

Words are compared as tokens, so that "baking" marks "bakes". The weight of a window is that of its
distinct tokens in the query; repeats add a fifth at most. The tokens of the query in a stretch of
text bound the weight of its windows, so only the stretches that may contain the best are searched.
Only the first `MOST_CHARACTERS` of a text are searched.

Without a linear map, each stretch gets a vector as a document would, and the one with the largest
cosine is shown. No word is marked, because no single word is the reason.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

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
_MOST_FOR_REPEATS = 1 + _REPEATS
_WORD = re.compile(r"\S+")
_STEP = 256  # characters whose white space is counted together
_SENTENCE_ENDS = (". ", "! ", "? ", ": ", "。", "！", "？")  # noqa: RUF001 (full-width signs)


class Sought(NamedTuple):
    """Phrases of which the first is shown, and compounds of the query."""

    phrases: Sequence[WrittenPhrase | Compound] = ()
    compounds: Sequence[Compound] = ()


def snippet(
    text: str,
    tokeniser: Tokeniser,
    words: Mapping[str, float],
    *,
    length: int = 200,
    title: str = "",
    most_marked: int | None = None,
    sought: Sought | None = None,
) -> Passage:
    """Return the window with the largest weight of tokens, or the beginning if it has none.

    It has `length` characters at most, without the "…" at a cut. The title is not repeated at the
    beginning. Only the `most_marked` heaviest tokens are marked, if given. The first phrase that
    is `sought` and occurs is shown, and compounds are marked as wholes.
    """
    sought = sought or Sought()
    whole = folded(text, title)
    quoted = [span for phrase in sought.phrases if (span := phrase.find(whole))]
    weights = {token: weight for token, weight in words.items() if weight > 0}
    if quoted:
        best = [_Token(*quoted[0], "")]
    else:
        best = _best_window(whole, tokeniser, weights, length) if weights else []
    start, end = _grown(whole, best, length) if best else beginning(whole, 0, length)
    tokens = _tokens_in(whole, start, end, tokeniser, weights)
    if most_marked is not None:
        present = {token.term for token in tokens}
        strongest = sorted(present, key=lambda token: (-weights[token], token))[:most_marked]
        tokens = [token for token in tokens if token.term in strongest]
    wholes = (span for compound in sought.compounds for span in compound.spans(whole))
    inside = [span for span in (*quoted, *wholes) if start <= span[0] and span[1] <= end]
    marks = sorted([*inside, *((token.start, token.end) for token in tokens)])
    return shown(text, whole, start, end, _joined(marks))


def folded(text: str, title: str) -> str:
    """Return the text on one line, without its title."""
    return _without_title(" ".join(text[:MOST_CHARACTERS].split()), " ".join(title.split()))


def stretches(text: str, length: int) -> Iterator[tuple[int, int]]:
    """Cut a text at spaces into parts longer than a window; a very long word is cut, too."""
    start = 0
    while start < len(text):
        least, most = start + max(length, 1), start + max(length, 1) + LONGEST_WORD
        space = text.find(" ", least, most)
        end = min(space if space > 0 else most, len(text))
        yield start, end
        start = end


def beginning(text: str, start: int, length: int) -> tuple[int, int]:
    """Return a window from a position that begins and ends with whole words."""
    start += text[start : start + 1].isspace()
    return start, _cut_after(text, start, length)


def shown(
    text: str, whole: str, start: int, end: int, marks: Iterable[tuple[int, int]] = ()
) -> Passage:
    """Return a window of the folded text, with "…" where it was cut."""
    before = CUT if start > 0 else ""
    after = CUT if end < len(whole) or len(text) > MOST_CHARACTERS else ""
    shift = len(before) - start
    return Passage(
        f"{before}{whole[start:end]}{after}",
        tuple((first + shift, last + shift) for first, last in marks),
        *unfolded(text, whole, start, end),
    )


def unfolded(text: str, whole: str, start: int, end: int) -> tuple[int, int]:
    """Return the span of a window of the folded text in the original text."""
    # Folding changes white space alone, and removes the title at the beginning: so characters
    # other than white space are counted.
    title_signs = _signs(" ".join(text[:MOST_CHARACTERS].split())) - _signs(whole)
    begun = title_signs + _signs(whole[:start])
    ended = begun + _signs(whole[start:end])
    first = last = seen = at = 0
    while begun < ended and seen + (signs := len("".join(text[at : at + _STEP].split()))) <= begun:
        if not signs:
            break
        seen, at = seen + signs, at + _STEP
    for word in _WORD.finditer(text, at):
        size = word.end() - word.start()
        if seen <= begun < seen + size:
            first = last = word.start() + begun - seen
        if ended <= seen + size:
            last = max(first, word.start() + ended - seen)
            break
        seen += size
    return first, last


def _signs(folded_text: str) -> int:
    return len(folded_text) - folded_text.count(" ")


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


class _Token(NamedTuple):
    """A token of the query in the folded text."""

    start: int
    end: int
    term: str


def _without_title(text: str, title: str) -> str:
    if not title or not text.startswith(title):
        return text
    rest = text[len(title) :]
    # "Bread" does not begin "Breadth first".
    return rest.lstrip(" .:;,-–—|") or text if not rest[:1].isalnum() else text


def _best_window(
    text: str, tokeniser: Tokeniser, weights: Mapping[str, float], length: int
) -> list[_Token]:
    """Return the tokens in the window with the largest weight, the first of equals."""
    bounds = list(stretches(text, length))
    at_spaces = all(text[end : end + 1] in {"", " "} for _, end in bounds)
    if at_spaces:
        every = _tokens_in(text, 0, len(text), tokeniser, weights)
        edges = [bisect_left(every, (end,)) for _, end in bounds]
        parts = [every[first:last] for first, last in pairwise([0, *edges])]
    else:  # a word longer than a stretch is cut
        parts = [_tokens_in(text, *span, tokeniser, weights) for span in bounds]
    present = [{token.term for token in part} for part in parts]
    # No window is longer than a stretch, so each lies in one or in two adjacent ones.
    pairs = pairwise([*present, set()])
    most = [sum(map(weights.__getitem__, first | second)) for first, second in pairs]
    best: list[_Token] = []
    best_weight = 0.0
    for number in sorted(range(len(most)), key=lambda number: -most[number])[:_MOST_PAIRS]:
        if most[number] * _MOST_FOR_REPEATS <= best_weight:
            break
        if at_spaces:
            tokens = [token for part in parts[number : number + 2] for token in part]
        else:
            start, end = bounds[number][0], bounds[min(number + 1, len(bounds) - 1)][1]
            tokens = _tokens_in(text, start, end, tokeniser, weights)
        for window in _windows(tokens, length):
            weight = _weight(window, weights)
            if weight > best_weight:
                best, best_weight = window, weight
    return best


def _tokens_in(
    text: str, start: int, end: int, tokeniser: Tokeniser, weights: Mapping[str, float]
) -> list[_Token]:
    spans = list(tokeniser.spans(text[start:end], weights))
    return [_Token(start + first, start + last, token) for first, last, token in spans]


def _windows(tokens: Sequence[_Token], length: int) -> Iterator[list[_Token]]:
    """Yield the longest window from each token on, but none inside of the one before."""
    end = last = 0
    for start, token in enumerate(tokens):
        end = max(end, start + 1)  # a word longer than the window is a window, too
        while end < len(tokens) and tokens[end].end - token.start <= length:
            end += 1
        if end > last:
            yield list(tokens[start:end])
        last = end


def _weight(window: Iterable[_Token], weights: Mapping[str, float]) -> float:
    counts: dict[str, int] = {}
    for token in window:
        counts[token.term] = counts.get(token.term, 0) + 1
    return sum(
        weights[token] * (_MOST_FOR_REPEATS - _REPEATS / count) for token, count in counts.items()
    )


def _grown(text: str, best: Sequence[_Token], length: int) -> tuple[int, int]:
    """Return a window of the full length around the words, from the start of a sentence if near."""
    start, end = best[0].start, max(token.end for token in best)
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
    whole = folded(text, title)
    bounds = list(islice(stretches(whole, length), MOST_STRETCHES))
    rows = _rows(index, [tokeniser.tokens(whole[start:end]) for start, end in bounds])
    cosines = index.project_weights(rows) @ query_vector
    best = int(np.argmax(cosines)) if bounds else 0
    start = bounds[best][0] if bounds and cosines[best] > 0 else 0
    return shown(text, whole, *beginning(whole, start, length))


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

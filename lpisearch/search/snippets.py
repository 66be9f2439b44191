"""Snippet of a text; nearest passage.

Words are told by the one tokeniser, so that "baking" marks "bakes". A window weighs what its
distinct wanted tokens weigh; repeats add a fifth at most. It is found in two steps: stretches of
text are tokenised whole, which is fast, and bound what a window in them can weigh; places are
worked out only in the few stretches that may hold the best. The first `MOST_CHARACTERS` of a
text are looked at, whatever its length.

Stretches of the text are placed, each like a document of its own; shown is the one whose place
has the largest cosine with the query's. No word is marked: none by itself is the reason.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice, pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from lpisearch.model.answers import Passage
from lpisearch.numeric.rows import SparseRows
from lpisearch.text.tokeniser import LONGEST_WORD, MOST_CHARACTERS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.index.subspace import SubspaceIndex
    from lpisearch.text.characters import WrittenPhrase
    from lpisearch.text.tokeniser import Tokeniser


CUT = "…"
_MOST_PAIRS = 6  # of stretches are looked at closely; one is usually enough
_REPEATS = 0.2
_MOST_FOR_REPEATS = 1 + _REPEATS
_WORD = re.compile(r"\S+")
_SENTENCE_ENDS = (". ", "! ", "? ", ": ", "。", "！", "？")  # noqa: RUF001 (full-width signs)


def snippet(
    text: str,
    tokeniser: Tokeniser,
    wanted: Mapping[str, float],
    *,
    length: int = 200,
    title: str = "",
    most_marked: int | None = None,
    phrases: Sequence[WrittenPhrase] = (),
) -> Passage:
    """Return the passage that weighs most; without a wanted word, the beginning.

    Parameters
    ----------
    text
        Of the document.
    tokeniser
        The library's.
    wanted
        Tokens and what each weighs; those of no weight are not wanted.
    length
        At most so many characters, not counting the "…" at a cut.
    title
        Is shown beside the passage: where it begins the text, it is passed over.
    most_marked
        Mark only so many distinct tokens, those of the greatest weight; None marks all.
    phrases
        What must stand in the text as it is written: the first that does is shown.
    """
    whole = folded(text, title)
    quoted = [found for phrase in phrases if (found := phrase.find(whole))]
    weights = {token: weight for token, weight in wanted.items() if weight > 0}
    if quoted:
        best = [_Place(*quoted[0], "")]
    else:
        best = _best_window(whole, tokeniser, weights, length) if weights else []
    start, end = _grown(whole, best, length) if best else beginning(whole, 0, length)
    places = _places(whole, start, end, tokeniser, weights)
    if most_marked is not None:
        present = {place.token for place in places}
        strongest = sorted(present, key=lambda token: (-weights[token], token))[:most_marked]
        places = [place for place in places if place.token in strongest]
    inside = [found for found in quoted if start <= found[0] and found[1] <= end]
    marks = sorted([*inside, *((place.start, place.end) for place in places)])
    return shown(text, whole, start, end, _joined(marks))


def folded(text: str, title: str) -> str:
    """Return what a passage is taken from: the text on one line, without its title."""
    return _without_title(" ".join(text[:MOST_CHARACTERS].split()), " ".join(title.split()))


def stretches(text: str, length: int) -> Iterator[tuple[int, int]]:
    """Cut a text at spaces, or where there is none for long, into parts longer than a window."""
    start = 0
    while start < len(text):
        least, most = start + max(length, 1), start + max(length, 1) + LONGEST_WORD
        space = text.find(" ", least, most)
        end = min(space if space > 0 else most, len(text))
        yield start, end
        start = end


def beginning(text: str, start: int, length: int) -> tuple[int, int]:
    """Return a window that begins with the first word from a place on, and ends with a word."""
    start += text[start : start + 1].isspace()
    return start, _cut_after(text, start, length)


def shown(
    text: str, whole: str, start: int, end: int, marks: Iterable[tuple[int, int]] = ()
) -> Passage:
    """Return a window of the folded text, with signs where it was cut."""
    before = CUT if start > 0 else ""
    after = CUT if end < len(whole) or len(text) > MOST_CHARACTERS else ""
    shift = len(before) - start
    return Passage(
        f"{before}{whole[start:end]}{after}",
        tuple((first + shift, last + shift) for first, last in marks),
        *unfolded(text, whole, start, end),
    )


def unfolded(text: str, whole: str, start: int, end: int) -> tuple[int, int]:
    """Return where a window of the folded text is in the text itself."""
    # Folding changes nothing but white space, and takes a title off the beginning: so signs that
    # are no white space are counted.
    folded_signs = len("".join(text[:MOST_CHARACTERS].split()))
    begun = folded_signs - _signs(whole) + _signs(whole[:start])
    ended = begun + _signs(whole[start:end])
    first = last = seen = 0
    for word in _WORD.finditer(text):
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
    """Return how much each term of a document adds to its cosine with a query, if it does.

    By the linear map, a document's vector is the sum of its terms' scaled loadings (documents
    are ROWS; the papers write columns), so a cosine is the sum of one number for each term.

    Parameters
    ----------
    index
        The subspace.
    query_vector
        At unit length and scaled, as rows of `index.vectors` are.
    tokens
        Of the document.
    """
    columns, counts, _ = index.vocabulary.count(tokens)
    scales = np.asarray(index.scales, np.float64)  # the square of a small float32 is 0
    rows = index.loadings[columns] * scales
    weights = index.weighting.weigh_query(columns, counts)
    length = float(np.linalg.norm(weights @ rows)) or 1.0
    shares = weights * (rows @ query_vector) / length
    terms = index.vocabulary.terms
    return {
        terms[column]: share
        for column, share in zip(columns.tolist(), shares.tolist(), strict=True)
        if share > 0
    }


class _Place(NamedTuple):
    """A wanted token in the folded text."""

    start: int
    end: int
    token: str


def _without_title(text: str, title: str) -> str:
    if not title or not text.startswith(title):
        return text
    rest = text[len(title) :]
    # "Bread" does not begin "Breadth first".
    return rest.lstrip(" .:;,-–—|") or text if not rest[:1].isalnum() else text


def _best_window(
    text: str, tokeniser: Tokeniser, weights: Mapping[str, float], length: int
) -> list[_Place]:
    """Return the wanted tokens in the window that weighs most, the first of equals."""
    bounds = list(stretches(text, length))
    found = [weights.keys() & tokeniser.tokens(text[start:end]) for start, end in bounds]
    # No window is longer than a stretch, so that each lies in one or in two next to each other.
    pairs = list(pairwise([*zip(bounds, found, strict=True), ((len(text), len(text)), set())]))
    most = [sum(map(weights.__getitem__, first | second)) for (_, first), (_, second) in pairs]
    best: list[_Place] = []
    best_weight = 0.0
    for number in sorted(range(len(pairs)), key=lambda number: -most[number])[:_MOST_PAIRS]:
        if most[number] * _MOST_FOR_REPEATS <= best_weight:
            break
        ((start, _), _), ((_, end), _) = pairs[number]
        places = _places(text, start, end, tokeniser, weights)
        for window in _windows(places, length):
            weight = _weight(window, weights)
            if weight > best_weight:
                best, best_weight = window, weight
    return best


def _places(
    text: str, start: int, end: int, tokeniser: Tokeniser, weights: Mapping[str, float]
) -> list[_Place]:
    return [
        _Place(start + first, start + last, token)
        for first, last, token in tokeniser.spans(text[start:end], weights)
    ]


def _windows(places: Sequence[_Place], length: int) -> Iterator[list[_Place]]:
    """Yield the longest window from each place on."""
    end = 0
    for start, place in enumerate(places):
        end = max(end, start + 1)  # a word longer than the window is a window all the same
        while end < len(places) and places[end].end - place.start <= length:
            end += 1
        yield list(places[start:end])


def _weight(window: Iterable[_Place], weights: Mapping[str, float]) -> float:
    counts = Counter(place.token for place in window)
    return sum(
        weights[token] * (_MOST_FOR_REPEATS - _REPEATS / count) for token, count in counts.items()
    )


def _grown(text: str, best: Sequence[_Place], length: int) -> tuple[int, int]:
    """Return a window of the full length around the words, from a sentence's beginning if near."""
    start, end = best[0].start, best[-1].end
    slack = max(length - (end - start), 0)
    earliest = max(start - slack, 0)
    found = ((text.rfind(sign, earliest, start), len(sign)) for sign in _SENTENCE_ENDS)
    first = max((at + size for at, size in found if at >= 0), default=0)
    if not first and earliest:
        first = _cut_before(text, start - slack // 2, start)
    return first, max(_cut_after(text, first, length), end)


def _cut_before(text: str, at: int, start: int) -> int:
    """Return where the first whole word begins, or the place itself where no space is."""
    return text.find(" ", at - 1, start) + 1 or at


def _cut_after(text: str, start: int, length: int) -> int:
    """Return where the last whole word ends, or the place itself where no space is."""
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


# Of so many stretches, 4,000 characters or so: placing one can take a millisecond.
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
    """Return the stretch of a text that is nearest to a query; the beginning if none is near.

    Parameters
    ----------
    index
        Its rule places the stretches.
    query_vector
        At unit length and scaled, as rows of `index.vectors` are.
    text, tokeniser, length, title
        As `snippet` has them. The first 20 stretches are looked at.
    """
    whole = folded(text, title)
    bounds = list(islice(stretches(whole, length), MOST_STRETCHES))
    rows = _rows(index, [tokeniser.tokens(whole[start:end]) for start, end in bounds])
    cosines = index.place(rows) @ query_vector
    best = int(np.argmax(cosines)) if bounds else 0
    start = bounds[best][0] if bounds and cosines[best] > 0 else 0
    return shown(text, whole, *beginning(whole, start, length))


def _rows(index: SubspaceIndex, texts: Sequence[Sequence[str]]) -> SparseRows:
    """Weigh the tokens of each stretch as those of a document."""
    counted = [index.vocabulary.count(tokens) for tokens in texts]
    weights = [index.weighting.weigh_query(each.indices, each.counts) for each in counted]
    return SparseRows(
        indptr=np.cumsum([0, *map(len, weights)]),
        indices=np.concatenate([np.empty(0, np.int32), *(each.indices for each in counted)]),
        data=np.concatenate([np.empty(0, np.float32), *weights]),
        n_terms=index.n_terms,
    )

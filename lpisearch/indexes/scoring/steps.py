"""Messages that shards exchange while scoring a query, and their merging.

Scores are standardised over all documents, and the best of all move a question. So scoring is a
generator (`Engine.scoring`): at each step a part says something small of its own documents, and
hears the same of all. Parts are the shards of a library, in this process or elsewhere. A library
that is whole is one part, which hears what it has said.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from numpy.typing import NDArray

T = TypeVar("T")
Stretch: TypeAlias = tuple[int, float, float, float]
"""Of some scores: how many, their mean, the squares about it added up, the largest size."""
_SAMPLED = 1024


@dataclass(frozen=True, eq=False, slots=True)
class Sums:
    """How scores are spread.

    Attributes
    ----------
    legs
        The stretches of the documents, for each leg.
    documents, units, movers
        How many documents there are, how many with passages, and how many of those may move a
        question.
    """

    legs: list[list[Stretch]]
    documents: int
    units: int
    movers: int


@dataclass(frozen=True, eq=False, slots=True)
class First:
    """The best by a score.

    Attributes
    ----------
    count
        How many are wanted; of few there are fewer.
    scores
        Of each.
    rows
        What is told of each: its vector, or the words that it says most and what they are worth.
    """

    count: int
    scores: NDArray[np.float32]
    rows: list[NDArray[Any]]


@dataclass(frozen=True, eq=False, slots=True)
class Border:
    """Which score so many are not below.

    Attributes
    ----------
    count
        How many.
    values, weights
        Some of the best scores, falling, and for how many each stands.
    """

    count: int
    values: NDArray[np.float32]
    weights: NDArray[np.int64]

    @classmethod
    def of(cls, best: NDArray[np.float32], count: int) -> Border:
        """Take every so many-th of the best scores, in any order: a thousand at most."""
        ordered = np.sort(best)[::-1]
        step = max(1, -(-len(ordered) // _SAMPLED))
        last = np.minimum(np.arange(step, len(ordered) + step, step), len(ordered))
        return cls(count, ordered[last - 1], np.diff(last, prepend=0))

    @property
    def value(self) -> np.float32:
        """The score; the lowest there is, where there are not as many."""
        if not len(self.values):
            return np.float32(-np.inf)
        reached = np.flatnonzero(np.cumsum(self.weights) >= self.count)
        return np.float32(self.values[reached[0] if len(reached) else -1])


Said: TypeAlias = Sums | First | Border


def in_step(parts: Sequence[Generator[Said, Said, T]]) -> list[T]:
    """Let parts score a question together; return what each came to."""
    ended: dict[int, T] = {}
    heard: Said | None = None
    while True:
        said = []
        for at, part in enumerate(parts):
            try:
                said.append(next(part) if heard is None else part.send(heard))
            except StopIteration as end:
                ended[at] = end.value
        if not said:
            return [ended[at] for at in range(len(parts))]
        heard = together(said)


def together(said: Sequence[Said]) -> Said:
    """Put together what parts have said at one step."""
    one = said[0]
    if len(said) == 1:
        return one
    if isinstance(one, Sums):
        every = [each for each in said if isinstance(each, Sums)]
        legs = [[part for each in every for part in each.legs[at]] for at in range(len(one.legs))]
        documents, units, movers = (
            sum(getattr(each, name) for each in every) for name in ("documents", "units", "movers")
        )
        return Sums(legs, documents, units, movers)
    if isinstance(one, First):
        firsts = [each for each in said if isinstance(each, First)]
        scores = np.concatenate([each.scores for each in firsts])
        best = np.argsort(-scores, kind="stable")[: one.count]
        columns = zip(*(each.rows for each in firsts), strict=True)
        return First(one.count, scores[best], [np.concatenate(each)[best] for each in columns])
    borders = [each for each in said if isinstance(each, Border)]
    values = np.concatenate([each.values for each in borders])
    weights = np.concatenate([each.weights for each in borders])
    order = np.argsort(-values, kind="stable")
    return Border(one.count, values[order], weights[order])


_KINDS: dict[str, type[Said]] = {each.__name__.lower(): each for each in (Sums, First, Border)}


def as_json(said: Said) -> dict[str, Any]:
    """Return what was said as a JSON value, every bit of it."""
    values = {each.name: _plain(getattr(said, each.name)) for each in fields(said)}
    return {"kind": type(said).__name__.lower()} | values


def of_json(values: Mapping[str, Any]) -> Said:
    """Return what `as_json` wrote.

    Raises
    ------
    ValueError
        It was not written by it.
    """
    try:
        kind = _KINDS[values["kind"]]
        made = kind(**{each.name: _made(values[each.name]) for each in fields(kind)})
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"Invalid message from a shard: {error}.") from error
    return made


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        data = b64encode(np.ascontiguousarray(value).tobytes()).decode()
        return {"dtype": value.dtype.str, "shape": list(value.shape), "data": data}
    return [_plain(each) for each in value] if isinstance(value, list) else value


def _made(value: Any) -> Any:
    if isinstance(value, dict):
        dtype = np.dtype(str(value["dtype"]))
        if dtype.kind not in "if":
            raise ValueError("An array of a shard has numbers.")
        return np.frombuffer(b64decode(value["data"]), dtype).reshape(value["shape"])
    return [_made(each) for each in value] if isinstance(value, list) else value

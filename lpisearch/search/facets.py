"""What a set of documents consists of: counts by label, split, folder, format and date.

What is counted is turned into numbers once for each state of the library; then a count of any set
of documents is a few sums over arrays.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from operator import itemgetter
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.records import Facets, FacetValue
from lpisearch.search.periods import by_period

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from lpisearch.storage import Snapshot

MOST_VALUES = 100
"""Of the values of a facet, so many are given: the most frequent."""
_DAY = len("2024-05-31")
_TRAITS = 5


@dataclass(frozen=True, eq=False, slots=True)
class _Coded:
    """Values as numbers: one for each entry, of the document in the same place of `places`."""

    names: list[str]
    codes: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, values: Sequence[str], places: NDArray[np.int64]) -> _Coded:
        """Give values numbers; an empty one is none."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
        if "" in numbers:
            some = codes != numbers[""]
            codes, places = codes[some], places[some]
        return cls(list(numbers), codes, places)

    def counts(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return how many of the chosen documents have each value."""
        return np.bincount(self.codes[chosen[self.places]], minlength=len(self.names))

    def most_frequent(self, chosen: NDArray[np.bool_]) -> tuple[FacetValue, ...]:
        """Return the values that chosen documents have, most frequent first."""
        counts = self.counts(chosen)
        found = [(int(counts[at]), self.names[at]) for at in np.flatnonzero(counts)]
        found.sort(key=lambda pair: (-pair[0], pair[1]))
        return tuple(FacetValue(name, name, count) for count, name in found[:MOST_VALUES])


@dataclass(frozen=True, eq=False, slots=True)
class FacetColumns:
    """All documents of one state of a library, ready to be counted.

    Attributes
    ----------
    state
        The mark of that state.
    """

    state: str
    keys: NDArray[np.int64]
    labels: _Coded
    predicted: _Coded
    splits: _Coded
    formats: _Coded
    folders: _Coded
    dates: _Coded

    @classmethod
    def of(cls, snapshot: Snapshot) -> FacetColumns:
        """Read them."""
        traits = snapshot.documents.traits()
        numbers, splits, dates, paths, formats = (
            list(map(itemgetter(at), traits)) for at in range(_TRAITS)
        )
        keys = np.array(numbers, np.int64)
        every = np.arange(len(keys))
        predicted: list[tuple[int, str]] = []
        if snapshot.labels.predicted_counts():
            said = snapshot.labels.predicted(keys.tolist())
            predicted = [(key, each.label) for key, names in said.items() for each in names]
        return cls(
            snapshot.state(),
            keys,
            _labelled(keys, snapshot.labels.pairs()),
            _labelled(keys, predicted),
            _Coded.of(splits, every),
            _Coded.of(formats, every),
            _Coded.of(paths, every),
            _Coded.of([date[:_DAY] for date in dates], every),
        )

    def count(self, keys: NDArray[np.int64] | None = None) -> Facets:
        """Count documents, given by their keys; all if none are given."""
        chosen = np.ones(len(self.keys), bool) if keys is None else np.isin(self.keys, keys)
        total = int(np.count_nonzero(chosen))
        dated = self.dates.counts(chosen)
        known = {self.dates.names[at]: int(dated[at]) for at in np.flatnonzero(dated)}
        period, dates = by_period(known)
        return Facets(
            total=total,
            labels=self.labels.most_frequent(chosen),
            predicted=self.predicted.most_frequent(chosen),
            splits=self.splits.most_frequent(chosen),
            folders=_next_below(self.folders, chosen),
            formats=self.formats.most_frequent(chosen),
            dates=dates,
            period=period,
            undated=total - sum(known.values()),
        )


def _labelled(keys: NDArray[np.int64], labels: Sequence[tuple[int, str]]) -> _Coded:
    """Give the labels of documents numbers; keys ascend."""
    owners = np.array([key for key, _ in labels], np.int64)
    return _Coded.of([name for _, name in labels], np.searchsorted(keys, owners))


def _next_below(paths: _Coded, chosen: NDArray[np.bool_]) -> tuple[FacetValue, ...]:
    """Count what lies next below the deepest folder in which all of the chosen lie."""
    counts = paths.counts(chosen)
    found = {paths.names[at]: int(counts[at]) for at in np.flatnonzero(counts)}
    if not found:
        return ()
    common = _common_folder(found)
    totals: dict[str, int] = {}
    for path, count in found.items():
        name = path[len(common) :].split(os.sep, 1)
        # A file of its own is no folder; one of many documents is as good as one.
        if len(name) > 1 or count > 1:
            totals[name[0]] = totals.get(name[0], 0) + count
    ordered = sorted(totals.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_VALUES]
    return tuple(FacetValue(common + name, name, count) for name, count in ordered)


def _common_folder(paths: Collection[str]) -> str:
    """Return the deepest folder of all paths, with a separator at its end; "" if there is none."""
    first, last = min(paths), max(paths)  # what these have in common, all between them have
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    common = first[: min(len(first), len(last))] if same is None else first[:same]
    return common[: common.rfind(os.sep) + 1]


class OpenFacets:
    """The columns of a library as it is, made anew when it has changed; for several threads."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: FacetColumns | None = None

    def of(self, snapshot: Snapshot) -> FacetColumns:
        """Return the columns of a snapshot."""
        made, state = self._made, snapshot.state()
        if made is not None and made.state == state:
            return made
        with self._lock:  # so that many who ask at once do not all read
            made = self._made
            if made is None or made.state != state:
                made = self._made = FacetColumns.of(snapshot)
            return made

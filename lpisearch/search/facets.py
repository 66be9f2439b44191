"""Facets: documents counted by label, split, folder, format, date and language.

Values become numbers once for each state of the library; a count of any set of documents is then a
few sums over arrays.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.model.answers import Facets, FacetValue
from lpisearch.model.document_filter import Filter, format_name, format_of

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from lpisearch.storage.store import ReadTransaction


MOST_VALUES = 100
"""The number of values of a facet that are returned: the most frequent."""
_DAY = len("2024-05-31")
_TRAITS = 7


@dataclass(frozen=True, eq=False, slots=True)
class _Coded:
    """Values as numbers: the code of each entry, and the position of its document."""

    names: list[str]
    codes: NDArray[np.int64]
    places: NDArray[np.int64]

    @classmethod
    def of(cls, values: Sequence[str], places: NDArray[np.int64]) -> _Coded:
        """Give values numbers; an empty one does not count."""
        numbers = {name: number for number, name in enumerate(dict.fromkeys(values))}
        codes = np.fromiter(map(numbers.__getitem__, values), np.int64, len(values))
        if "" in numbers:
            some = codes != numbers[""]
            codes, places = codes[some], places[some]
        return cls(list(numbers), codes, places)

    def counts(self, chosen: NDArray[np.bool_]) -> dict[str, int]:
        """Return how many of the chosen documents have each value that some of them have."""
        counts = np.bincount(self.codes[chosen[self.places]], minlength=len(self.names))
        return {self.names[at]: int(counts[at]) for at in np.flatnonzero(counts)}


@dataclass(frozen=True, eq=False, slots=True)
class FacetColumns:
    """The facets of all documents of one state of a library, as numbers."""

    keys: NDArray[np.int64]
    labels: _Coded
    predicted: _Coded
    splits: _Coded
    formats: _Coded
    folder_paths: _Coded
    dates: _Coded
    languages: _Coded
    senders: _Coded

    @classmethod
    def of(cls, transaction: ReadTransaction) -> FacetColumns:
        """Read the facets of all documents."""
        traits = transaction.documents.traits()
        numbers, splits, dates, paths, formats, languages, senders = (
            list(map(itemgetter(at), traits)) for at in range(_TRAITS)
        )
        keys = np.array(numbers, np.int64)
        every = np.arange(len(keys))
        predicted: list[tuple[int, str]] = []
        if transaction.labels.predicted_counts():
            labels = transaction.labels.predicted(keys.tolist())
            predicted = [(key, one.label) for key, own in labels.items() for one in own]
        return cls(
            keys,
            _labelled(keys, transaction.labels.pairs()),
            _labelled(keys, predicted),
            _Coded.of(splits, every),
            _Coded.of(list(map(format_of, formats)), every),
            _Coded.of(paths, every),
            _Coded.of([date[:_DAY] for date in dates], every),
            _Coded.of(languages, every),
            _Coded.of(senders, every),
        )

    def count(self, keys: NDArray[np.int64] | None = None, base: str = "") -> Facets:
        """Count the documents with these keys, or all; folders below one, or below their own."""
        chosen = self._chosen(keys)
        total, days = int(np.count_nonzero(chosen)), self.dates.counts(chosen)
        period, dates = by_period(days)
        return Facets(
            total=total,
            labels=_top(self.labels.counts(chosen)),
            predicted=_top(self.predicted.counts(chosen)),
            splits=_top(self.splits.counts(chosen)),
            folders=_folders(self.folder_paths.counts(chosen), base),
            formats=_top(self.formats.counts(chosen), format_name),
            dates=dates,
            period=period,
            undated=total - sum(days.values()),
            languages=_top(self.languages.counts(chosen), str.capitalize),
            senders=_top(self.senders.counts(chosen)),
        )

    def _chosen(self, keys: NDArray[np.int64] | None) -> NDArray[np.bool_]:
        return np.ones(len(self.keys), bool) if keys is None else np.isin(self.keys, keys)


def _labelled(keys: NDArray[np.int64], labels: Sequence[tuple[int, str]]) -> _Coded:
    """Give the labels of documents numbers; keys ascend."""
    owners = np.array([key for key, _ in labels], np.int64)
    return _Coded.of([name for _, name in labels], np.searchsorted(keys, owners))


def _folders(paths: Mapping[str, int], base: str = "") -> tuple[FacetValue, ...]:
    """Count what is directly below a folder, or the deepest common folder of all paths.

    A file with several documents counts as a folder.
    """
    common = base or (_common_folder(paths) if paths else "")
    totals: Counter[str] = Counter()
    for path, count in paths.items():
        if base and not path.startswith(base):
            continue
        name, separator, _ = path[len(common) :].partition(os.sep)
        totals[name + separator] += count
    shown: Counter[str] = Counter()
    for name, count in totals.items():
        if name.endswith(os.sep) or count > 1:
            shown[name.removesuffix(os.sep)] += count
    return tuple(FacetValue(common + name, name, count) for name, count in _ranked(shown))


def _top(
    counts: Mapping[str, int], name_of: Callable[[str], str] = lambda value: value
) -> tuple[FacetValue, ...]:
    return tuple(FacetValue(value, name_of(value), count) for value, count in _ranked(counts))


def _ranked(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Return names and counts, the most frequent first, `MOST_VALUES` at most."""
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_VALUES]


def _common_folder(paths: Collection[str]) -> str:
    """Return the deepest folder of all paths, with a separator at its end; "" if there is none."""
    first, last = min(paths), max(paths)  # what these share, all between them share
    same = next((at for at, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), None)
    common = first[: min(len(first), len(last))] if same is None else first[:same]
    return common[: common.rfind(os.sep) + 1]


# The facets, and the conditions that each is counted without: several of its values may match.
_OWN: dict[tuple[str, ...], tuple[str, ...]] = {
    ("labels", "predicted"): ("labels", "predicted"),
    ("folders",): ("folders",),
    ("formats",): ("formats", "media_type"),
    ("languages",): ("languages",),
    ("senders",): ("senders",),
    ("splits",): ("split",),
    ("undated",): ("since", "until", "undated"),
}


def open_facets(facets: Facets, where: Filter, count: Callable[[Filter, str], Facets]) -> Facets:
    """Count each facet whose values are chosen as if they were not, so that others can be.

    Folders are then those next to the chosen ones; `subfolders` are those below. Dates stay those
    of the chosen period, whose months and days are next. `count` counts the documents that match a
    filter; its folders are those below a folder.
    """
    plain = Filter()
    for names, own in _OWN.items():
        without = {name: getattr(plain, name) for name in own}
        if all(getattr(where, name) == value for name, value in without.items()):
            continue
        is_folder = names == ("folders",)
        base = _common_folder([f"{one}" for one in where.folders]) if is_folder else ""
        wider = count(replace(where, **without), base)
        more: dict[str, Any] = {"subfolders": facets.folders} if is_folder else {}
        more |= {name: getattr(wider, name) for name in names}
        facets = replace(facets, **more)
    return facets


MOST_BARS = 60
_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?", re.ASCII)
_LENGTHS = {"day": 10, "month": 7, "year": 4}
_MONTHS, _DAYS = 12, 31


def by_period(counts: Mapping[str, int]) -> tuple[str, tuple[FacetValue, ...]]:
    """Count dates, such as "2024-05-31" or "2024", by "day", "month" or "year".

    It is the finest period that all dates state with at most `MOST_BARS` bars, empty ones included.
    If the years alone are more, empty ones are left out.
    """
    known = {date: count for date, count in counts.items() if _DATE.fullmatch(date)}
    if not known:
        return "", ()
    finest = min(len(date) for date in known)
    first, last = min(known), max(known)
    for period, length in _LENGTHS.items():
        if length > finest:
            continue
        bars = dict.fromkeys(_between(first[:length], last[:length]), 0)
        if len(bars) <= MOST_BARS or period == "year":
            for date, count in known.items():
                bars[date[:length]] = bars.get(date[:length], 0) + count
            shown = {name: n for name, n in bars.items() if n or len(bars) <= MOST_BARS}
            return period, tuple(FacetValue(name, name, n) for name, n in sorted(shown.items()))
    return "", ()  # pragma: no cover (all dates state a year)


def _between(first: str, last: str) -> Iterator[str]:
    """Yield the periods from one to another, at most one more than can be shown."""
    at = first
    for _ in range(MOST_BARS + 1):
        yield at
        if at >= last:
            return
        at = _next(at)


def _next(period: str) -> str:
    """Return the next year, month or day; a date that is not in the calendar counts on."""
    from datetime import date, timedelta

    year, *rest = map(int, period.split("-"))
    if not rest:
        return f"{year + 1:04}"
    if len(rest) == 1:
        carry, month = divmod(rest[0], _MONTHS)
        return f"{year + carry:04}-{month + 1:02}"
    try:
        return (date(year, *rest) + timedelta(days=1)).isoformat()
    except (ValueError, OverflowError):
        return f"{year:04}-{rest[0]:02}-{rest[1] + 1:02}"

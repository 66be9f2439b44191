"""Report parameters and versions common to all evaluations."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.indexes.learn import library_versions
from lpisearch.records import Report
from lpisearch.settings import ClusterOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from lpisearch.evaluation.experiments.collection import Collection
    from lpisearch.records import Cell, Figure, Table

_OF_WORDS = ("language", "stop_words", "stemmer")


def as_report(
    title: str,
    collection: Collection | None,
    options: Sequence[Any],
    tables: Sequence[Table],
    figures: Sequence[Figure] = (),
) -> Report:
    """Put findings and their circumstances together.

    Parameters
    ----------
    options
        Dataclasses of what was asked for.
    """
    parameters: dict[str, Cell] = {}
    if collection is not None:
        parameters |= {
            "documents": len(collection),
            "source": collection.name,
            "fingerprint": collection.fingerprint,
            "weighting": collection.weighting,
        }
        if collection.tokeniser is not None:
            asked = asdict(collection.tokeniser)
            parameters |= flat({name: asked[name] for name in _OF_WORDS})
    for each in options:
        parameters |= flat(asdict(each))
        if isinstance(each, ClusterOptions):
            parameters["classes"] = ", ".join(str(number or "all") for number in each.classes)
    return Report(title, "", parameters, library_versions(), tuple(tables), tuple(figures))


def flat(values: Mapping[str, Any]) -> dict[str, Cell]:
    """Return options as cells; what was left to the program is left out."""
    own: dict[str, Any] = dict(values)
    for name in [name for name, value in own.items() if isinstance(value, dict)]:
        own |= own.pop(name)
    return {name: _cell(value) for name, value in own.items() if value not in (None, "", ())}


def _cell(value: Any) -> Cell:
    if isinstance(value, (list, tuple)):
        return ", ".join(f"{each:g}" if isinstance(each, float) else str(each) for each in value)
    return str(value) if isinstance(value, Path) else value


def mean_and_spread(values: Sequence[float]) -> tuple[float, float | None]:
    """Return the mean and the standard deviation (of a sample; None for one value)."""
    from statistics import fmean, stdev

    return fmean(values), stdev(values) if len(values) > 1 else None

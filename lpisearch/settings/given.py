"""Merge keyword arguments into option objects."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING

from lpisearch.settings import IndexOptions, IngestOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.settings import IndexFields


def search_options(
    options: SearchOptions | None,
    k: int | None,
    by: str | None,
    label: str | Sequence[str],
    index: str | None,
    *,
    sort: str | None = None,
    explain: bool = False,
) -> SearchOptions:
    """Return the options of a search; what is given by name goes before them."""
    chosen = options or SearchOptions()
    labels = each_label(label)
    return replace(
        chosen,
        k=chosen.k if k is None else k,
        by=by or chosen.by,
        where=replace(chosen.where, labels=labels) if labels else chosen.where,
        index=index or chosen.index,
        explain=explain or chosen.explain,
        sort=sort or chosen.sort,
    )


def ingest_options(options: IngestOptions | None, labels: str | None) -> IngestOptions:
    """Return the options of an ingest; where labels come from, if given, goes before them."""
    chosen = options or IngestOptions()
    return chosen if labels is None else replace(chosen, read=replace(chosen.read, labels=labels))


def index_options(
    options: IndexOptions | None, method: str | None, given: IndexFields
) -> IndexOptions:
    """Return the options of an index; what is given by name goes before them."""
    chosen = replace(options or IndexOptions(), **given)
    return replace(chosen, method=method or chosen.method)


def each_label(labels: str | Sequence[str]) -> tuple[str, ...]:
    """Return labels, given as one or several."""
    return (labels,) if isinstance(labels, str) else tuple(labels)


def warned(said: str) -> None:
    """Warn of what is to be known of answers, where nobody else is told."""
    warnings.warn(said, UserWarning, stacklevel=2)

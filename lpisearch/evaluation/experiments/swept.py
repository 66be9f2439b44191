"""Measures, parameters and values that can be swept."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from lpisearch.errors import BadOption
from lpisearch.evaluation.experiments.classify import MEASURES as CATEGORY_MEASURES
from lpisearch.evaluation.experiments.classify import SHARE
from lpisearch.evaluation.experiments.representations import TERMS
from lpisearch.indexes.checking import check_settings
from lpisearch.messages import Message, Option
from lpisearch.projections.parameters import settable_by_any
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from lpisearch.settings import SweepOptions
    from lpisearch.settings.indexes import Setting

MEASURES = {
    "similarity": ("AP", "accuracy"),
    "classify": CATEGORY_MEASURES,
    "cluster": ("AC", "NMI"),
    "retrieval": ("AP",),
}
# What is varied, the estimators' name for it, and its name on an axis.
PARAMETERS = {
    "dims": ("n_components", "dimensions"),
    "neighbours": ("n_neighbors", "neighbours"),
    "alpha": ("alpha", "α"),
    "train": ("", SHARE),
}
WHOLE = ("dims", "neighbours")
_RANGES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "dims": (lambda value: value >= 1 and value % 1 == 0, "whole numbers above 0"),
    "neighbours": (lambda value: value >= 1 and value % 1 == 0, "whole numbers above 0"),
    "alpha": (lambda value: 0 <= value < math.inf, "numbers of 0 or more"),
    "train": (lambda value: 0 < value < 1, "fractions between 0 and 1, such as 5% or .05"),
}


def checked(wanted: SweepOptions, methods: Sequence[str], *, has_queries: bool) -> SweepOptions:
    """Refuse a sweep that cannot work; return it with each value of its kind.

    Parameters
    ----------
    methods
        That are compared.
    has_queries
        Whether there are queries and judgements.

    Raises
    ------
    BadOption
    """
    if wanted.measure not in MEASURES:
        raise BadOption("measure", f"“{wanted.measure}” cannot be swept", MEASURES)
    if wanted.over == "train" and wanted.measure != "classify":
        raise BadOption("over", f"{wanted.measure} does not use training documents")
    if wanted.measure == "retrieval" and not has_queries:
        raise BadOption(
            "queries",
            Message(
                "retrieval needs ", Option("queries", "FILE"), " and ", Option("qrels", "FILE")
            ),
        )
    if not wanted.values:
        raise BadOption("values", "give at least one value")
    if wanted.over not in PARAMETERS:
        return _of_own_kind(wanted, methods)
    allowed, said = _RANGES[wanted.over]
    refused = [
        _named(value) for value in wanted.values if not (is_number(value) and allowed(value))
    ]
    if refused:
        raise BadOption("values", f"{', '.join(refused)}: {wanted.over} must be {said}")
    return wanted


def _of_own_kind(wanted: SweepOptions, methods: Sequence[str]) -> SweepOptions:
    """Read the values of a parameter that only some methods have."""
    own = settable_by_any(name for name in methods if name != TERMS)
    if wanted.over not in own:
        hint = nearest(wanted.over, [*PARAMETERS, *own])
        known = [*PARAMETERS, *own]
        raise BadOption("over", f"“{wanted.over}” cannot be varied{hint}", known)
    for value in wanted.values:
        check_settings({wanted.over: value}, methods)
    return replace(wanted, values=tuple(own[wanted.over].read(value) for value in wanted.values))


def is_number(value: Setting) -> bool:
    """Tell a number from yes, no and words."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def axis(over: str) -> str:
    """Name a parameter as an axis does."""
    return PARAMETERS[over][1] if over in PARAMETERS else over


def _named(value: Setting) -> str:
    return f"{value:g}" if is_number(value) else str(value)

"""Registry of non-linear out-of-sample rules, by stored name.

A rule is a function `fold(arrays, rows)`: `arrays` is what `Embedding.placement_arrays` gave,
perhaps read from disk, and `rows` are documents weighted and at unit length. It returns a place
for each row (rows x dimensions), as the estimator's `transform` does; a row without an entry has
a place of zeros. Scaling comes afterwards, as for a linear map.

The module of a rule imports NumPy alone, and only when the rule is asked for: a query waits for
it.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.projections.rows import SparseRows

    Rule: TypeAlias = Callable[[Mapping[str, NDArray[Any]], SparseRows], NDArray[np.floating[Any]]]

PLACEMENTS: Mapping[str, str] = {
    "plsi": "lpisearch.projections.plsi_folding:fold",
    "nmf": "lpisearch.projections.nmf_folding:fold",
    "nystrom": "lpisearch.projections.nystrom_step:fold",
    "kernel": "lpisearch.projections.kernel_expansion:fold",
}


def placement_rule(name: str) -> Rule:
    """Import the rule of that name.

    Raises
    ------
    KeyError
        If there is none.
    """
    module, function = PLACEMENTS[name].split(":")
    return cast("Rule", getattr(import_module(module), function))

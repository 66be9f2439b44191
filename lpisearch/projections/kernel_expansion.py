"""Kernel methods: a vector is a weighted sum of kernels with fitted documents.

With k(x) the kernels of a document with the fitted ones (or with the landmarks among them) and C
the coefficients (fitted documents x dimensions), the place of x is k(x) C. The kernels are
functions of the cosine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lpisearch.projections.inverted import InvertedRows

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from lpisearch.projections.rows import Floats, SparseRows

KERNELS = ("linear", "rbf", "poly")


def fold(arrays: Mapping[str, NDArray[Any]], rows: SparseRows) -> Floats:
    """Place rows of unit length.

    Parameters
    ----------
    arrays
        `coefficients` (fitted documents x dimensions), the fitted documents as `lists`,
        `members` and `weights`, `kernel` (a name), and `kernel_numbers` (γ, c₀ and the degree).
    rows
        Documents; one without a term has a place of zeros.
    """
    coefficients = np.asarray(arrays["coefficients"])
    fitted = InvertedRows.of_arrays(arrays, len(coefficients))
    name, numbers = str(arrays["kernel"][0]), arrays["kernel_numbers"].tolist()
    found = np.zeros((len(rows), coefficients.shape[1]), coefficients.dtype)
    for place, (terms, weights) in zip(found, rows, strict=True):
        if weights.any():
            values = kernel(fitted.cosines(terms, weights), name, *numbers)
            np.matmul(values.astype(coefficients.dtype), coefficients, out=place)
    return found


def kernel(cosines: Any, name: str, gamma: float, constant: float, degree: float) -> Any:
    """Return the kernels of documents from their cosines, array or block.

    "linear" is the cosine, "poly" (γ cosine + c₀)^degree, and "rbf" exp(-γ |x - z|²), whose
    squared distance between unit rows is 2 - 2 cosine.
    """
    if name == "linear":
        return cosines
    if name == "poly":
        return (gamma * cosines + constant) ** int(degree)
    return np.exp(-gamma * (2 - 2 * cosines))

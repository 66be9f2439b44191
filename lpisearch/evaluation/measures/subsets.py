"""Parts of a collection that a term picks out, as in olpi-2005, section 5.2.1.

Counts are documents (rows) x terms, sparse; a document contains a term where the entry is not 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from lpisearch.projections.base import check_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Whole = NDArray[np.integer[Any]]


def word_subsets(counts: Any, columns: Sequence[int], least: int = 2) -> dict[int, Whole]:
    """List, for each of some terms, the documents that contain it.

    Parameters
    ----------
    counts
        Documents x terms, sparse.
    columns
        The numbers of the terms.
    least
        Terms that fewer documents contain are left out.

    Returns
    -------
    dict
        For each term, the rows of its documents in ascending order.

    Raises
    ------
    ValueError
        If there is no such column.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation import word_subsets
    >>> counts = csr_array([[1, 0, 2], [0, 0, 1], [3, 1, 0]])
    >>> {column: rows.tolist() for column, rows in word_subsets(counts, [2, 1, 0]).items()}
    {2: [0, 1], 0: [0, 2]}
    """
    counts = sparse.csc_array(counts)
    beyond = [column for column in columns if not 0 <= column < counts.shape[1]]
    if beyond:
        raise ValueError(f"There is no column {beyond[0]}: there are {counts.shape[1]} terms.")
    found = {}
    for column in columns:
        part = slice(counts.indptr[column], counts.indptr[column + 1])
        rows = np.unique(counts.indices[part][counts.data[part] != 0])
        if len(rows) >= least:
            found[int(column)] = rows
    return found


def frequent_terms(counts: Any, number: int, least: int = 2, most: int | None = None) -> list[int]:
    """Pick the terms that most documents contain, within bounds.

    Parameters
    ----------
    counts
        Documents x terms, sparse.
    number
        How many terms are picked; fewer if not as many are within the bounds.
    least, most
        How many documents must and may contain a term.

    Returns
    -------
    list of int
        Their columns, the most frequent first; of equally frequent ones the first column.

    Raises
    ------
    ValueError
        If `number` is not a whole number above 0.

    Examples
    --------
    >>> from scipy.sparse import csr_array
    >>> from lpisearch.evaluation import frequent_terms
    >>> counts = csr_array([[1, 0, 2, 1], [0, 0, 1, 1], [3, 1, 0, 1]])
    >>> frequent_terms(counts, 2, most=2)
    [0, 2]
    """
    check_count("number", number)
    counts = sparse.csr_array(counts)
    frequency = np.bincount(counts.indices[counts.data != 0], minlength=counts.shape[1])
    highest = counts.shape[0] if most is None else most
    within = np.flatnonzero((frequency >= max(least, 1)) & (frequency <= highest))
    ranked: list[int] = within[np.argsort(-frequency[within], kind="stable")][:number].tolist()
    return ranked

"""Best passage by vector similarity, for models that are not linear.

Stretches of the text are placed, each like a document of its own; shown is the one whose place
has the largest cosine with the query's. No word is marked: none by itself is the reason.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.projections.rows import SparseRows
from lpisearch.search.snippets import beginning, folded, shown, stretches

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.records import Passage
    from lpisearch.terms.tokeniser import Tokeniser

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

"""Surface forms of indexed stems."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.terms.forms import surface_forms
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.storage import Snapshot

_READ_DOCUMENTS = 3
_READ_CHARACTERS = 8000


def written_forms(
    index: SubspaceIndex,
    snapshot: Snapshot,
    stems: Iterable[str],
    cosines: NDArray[np.float64] | None = None,
) -> dict[str, str]:
    """Find how some documents of each stem mostly write it.

    Parameters
    ----------
    index
        Whose stems they are.
    snapshot
        Of the library.
    stems
        Terms of the index.
    cosines
        Of all documents: the nearest are asked; the first that come to hand if none are given.
    """
    postings = index.postings
    places: dict[int, None] = {}
    for stem in stems:
        number = postings.find(stem)
        if number < 0:
            continue  # every document that had it was deleted
        start, stop = postings.posting_starts[number : number + 2].tolist()
        holders = postings.posting_places[start:stop]
        if cosines is not None:
            holders = holders[np.argsort(-cosines[holders], kind="stable")]
        places |= dict.fromkeys(holders[:_READ_DOCUMENTS].tolist())
    rows = index.document_rows[list(places)].tolist()
    found = snapshot.documents.details(rows, _READ_CHARACTERS).values()
    text = "\n".join(f"{each.title}\n{each.text}" for each in found)
    settings = TokeniserSettings.from_dict(index.manifest.tokeniser)
    return surface_forms(text, Tokeniser(settings))

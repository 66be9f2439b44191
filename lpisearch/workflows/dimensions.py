"""A library by the dimensions of a sparse map: `lpisearch topics --method`, few words to each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from lpisearch.database.matching import hit_details
from lpisearch.database.schema import open_library
from lpisearch.errors import BadOption
from lpisearch.records import Dimension, DimensionDocument, DimensionReport, DimensionWord
from lpisearch.search.explain import surface_forms
from lpisearch.settings import IndexOptions
from lpisearch.terms.languages import TokeniserSettings
from lpisearch.terms.tokeniser import Tokeniser
from lpisearch.workflows.indexing import fit_index, open_index
from lpisearch.workflows.opening import entry_named
from lpisearch.workflows.stages import Stages

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from numpy.typing import NDArray
    from sqlalchemy import Connection

    from lpisearch.database.matching import Details
    from lpisearch.settings import DimensionOptions
    from lpisearch.store.index import SubspaceIndex

# How a stem is written is looked up in so many documents at each end, in the beginning of each.
_READ_DOCUMENTS = 24
_READ_CHARACTERS = 3000


def show_dimensions(
    library: Path, options: DimensionOptions, on_stage: Callable[[str], None] = lambda _name: None
) -> DimensionReport:
    """Give the dimensions of a sparse map by their words and typical documents.

    An index of that name and method is used as it is. Otherwise the map is learned with the
    defaults of `lpisearch index --method`, and nothing is stored.

    Raises
    ------
    BadOption, NothingToIndex, IndexNotFound, IndexDamaged, LibraryError
    """
    _check(options)
    index, is_stored = _index(library, options, on_stage)
    count = min(options.dims, index.arrays["loadings"].shape[1])
    with open_library(library) as database, database.reading() as connection:
        dimensions = [_dimension(index, at, connection, options) for at in range(count)]
    return DimensionReport(
        method=options.method,
        index=options.index if is_stored else "",
        documents=len(index.arrays["document_rows"]),
        terms=len(index.vocabulary),
        dimensions=tuple(dimensions),
    )


def _check(options: DimensionOptions) -> None:
    from lpisearch.projections.registry import METHODS

    readable = [name for name, cls in METHODS.items() if cls.few_words]
    if options.method not in METHODS:
        raise BadOption("--method", f"there is no method “{options.method}”", readable)
    if options.method not in readable:
        raise BadOption("--method", f"{options.method} has no dimensions of few words", readable)
    if options.dims < 1:
        raise BadOption("--dims", f"{options.dims} is not a number of dimensions")
    if options.terms < 0 or options.documents < 0:
        raise BadOption("--terms, --documents", "neither can be below 0")


def _index(
    library: Path, options: DimensionOptions, on_stage: Callable[[str], None]
) -> tuple[SubspaceIndex, bool]:
    """Open the index if it is of this method, else learn the map; say which it was."""
    with open_library(library) as database, database.reading() as connection:
        entry = entry_named(connection, options.index)
    if entry is not None and entry.method == options.method:
        return open_index(library, options.index), True
    wanted = IndexOptions(method=options.method, dims=options.dims, seed=options.seed, train="none")
    return fit_index(library, wanted, Stages(on_stage)), False


def _dimension(
    index: SubspaceIndex, at: int, connection: Connection, options: DimensionOptions
) -> Dimension:
    loadings = np.asarray(index.arrays["loadings"][:, at], dtype=np.float64)
    nearest = [_nearest(index, at, sign, connection, options.documents) for sign in (1, -1)]
    forms = _forms(index, nearest)
    above, below = (_words(index, sign * loadings, sign, forms, options.terms) for sign in (1, -1))
    documents = [
        tuple(DimensionDocument(each.id, each.title, cosine) for each, cosine in end)
        for end in (near[: options.documents] for near in nearest)
    ]
    return Dimension(
        number=at + 1,
        eigenvalue=float(index.arrays["eigenvalues"][at]),
        words=int(np.count_nonzero(loadings)),
        above=above,
        below=below,
        documents_above=documents[0],
        documents_below=documents[1],
    )


def _words(
    index: SubspaceIndex,
    towards: NDArray[np.float64],
    sign: int,
    forms: Mapping[str, str],
    number: int,
) -> tuple[DimensionWord, ...]:
    """Return the strongest words of one end, as its documents write them."""
    order = np.argsort(-towards, kind="stable")[:number]
    stems = index.vocabulary.terms
    return tuple(
        DimensionWord(forms.get(stems[term], stems[term]), sign * float(towards[term]))
        for term in order.tolist()
        if towards[term] > 0
    )


def _nearest(
    index: SubspaceIndex, at: int, sign: int, connection: Connection, count: int
) -> list[tuple[Details, float]]:
    """Read the documents nearest to one end of an axis, those that are still there."""
    cosines = np.asarray(index.vectors[:, at], dtype=np.float64)
    order = np.argsort(-sign * cosines, kind="stable")[: max(count, _READ_DOCUMENTS)]
    order = order[sign * cosines[order] > 0]
    rows = index.arrays["document_rows"][order].tolist()
    details = hit_details(connection, rows, _READ_CHARACTERS)
    return [
        (details[row], float(cosine))
        for row, cosine in zip(rows, cosines[order], strict=True)
        if row in details
    ]


def _forms(index: SubspaceIndex, ends: list[list[tuple[Details, float]]]) -> dict[str, str]:
    """Find how the documents at both ends write each stem most often."""
    tokeniser = Tokeniser(TokeniserSettings.from_dict(index.manifest.tokeniser))
    text = "\n".join(f"{each.title}\n{each.text}" for end in ends for each, _ in end)
    return surface_forms(text, tokeniser)

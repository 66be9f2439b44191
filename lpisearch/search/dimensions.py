"""`lpisearch topics --method`: the dimensions of a sparse model."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import numpy as np

from lpisearch.errors import BadOption
from lpisearch.indexes.build import fit_index
from lpisearch.indexes.opening import entry_named
from lpisearch.indexes.stages import Stages
from lpisearch.projections.catalogue import CATALOGUE
from lpisearch.records import Dimension, DimensionDocument, DimensionReport, DimensionWord
from lpisearch.search.written import written_forms
from lpisearch.settings import IndexOptions

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from lpisearch.indexes.index import SubspaceIndex
    from lpisearch.indexes.session import Session
    from lpisearch.records import Details
    from lpisearch.settings import DimensionOptions
    from lpisearch.storage import Snapshot

# How a stem is written is looked up in so many of its documents, in the beginning of each.
# So many times as many documents are looked up as are shown: some may have been deleted.
_SPARE = 10


def show_dimensions(
    session: Session,
    options: DimensionOptions,
    on_stage: Callable[[str], None] = lambda _name: None,
) -> DimensionReport:
    """Give the dimensions of a sparse map by their words and typical documents.

    An index of that name and method is used as it is. Otherwise the map is learned with the
    defaults of `lpisearch index --method`, and nothing is stored.

    Raises
    ------
    BadOption, NothingToIndex, IndexNotFound, IndexDamaged, LibraryError
    """
    _check(options)
    index, is_stored = _index(session, options, on_stage)
    count = min(options.dims, index.loadings.shape[1])
    with session.store.reading() as snapshot:
        dimensions = [_dimension(index, at, snapshot, options) for at in range(count)]
    return DimensionReport(
        method=options.method,
        index=options.index if is_stored else "",
        documents=len(index.document_rows),
        terms=len(index.vocabulary),
        dimensions=tuple(dimensions),
    )


def _check(options: DimensionOptions) -> None:
    readable = [name for name, method in CATALOGUE.items() if method.has_few_words]
    if options.method not in CATALOGUE:
        raise BadOption("method", f"unknown method “{options.method}”", readable)
    if options.method not in readable:
        raise BadOption(
            "method", f"{options.method} is not a sparse method (few words per dimension)", readable
        )
    if options.dims < 1:
        raise BadOption("dims", f"must be at least 1, not {options.dims}")
    if options.terms < 0 or options.documents < 0:
        raise BadOption(("terms", "documents"), "must be 0 or more")


def _index(
    session: Session, options: DimensionOptions, on_stage: Callable[[str], None]
) -> tuple[SubspaceIndex, bool]:
    """Open the index if it is of this method, else learn the map; say which it was."""
    with session.store.reading() as snapshot:
        entry = entry_named(snapshot, options.index)
    if entry is not None and entry.method == options.method:
        return session.index(options.index), True
    wanted = IndexOptions(method=options.method, seed=options.seed, train="none")
    return fit_index(session.path, wanted, Stages(on_stage)), False


def _dimension(
    index: SubspaceIndex, at: int, snapshot: Snapshot, options: DimensionOptions
) -> Dimension:
    ends = [_End(index, at, sign, snapshot) for sign in (1, -1)]
    above, below = (end.words(options.terms) for end in ends)
    spectrum = index.eigenvalues
    documents_above, documents_below = (end.documents(options.documents) for end in ends)
    return Dimension(
        number=at + 1,
        eigenvalue=0.0 if spectrum is None else float(spectrum[at]),
        words=int(np.count_nonzero(index.loadings[:, at])),
        above=above,
        below=below,
        documents_above=documents_above,
        documents_below=documents_below,
    )


class _End:
    """One end of a dimension: where loadings and cosines have this sign."""

    def __init__(self, index: SubspaceIndex, at: int, sign: int, snapshot: Snapshot) -> None:
        self.index, self.sign, self.snapshot = index, sign, snapshot
        self.loadings = sign * np.asarray(index.loadings[:, at], dtype=np.float64)
        self.cosines = sign * np.asarray(index.places.column(at), dtype=np.float64)

    def words(self, count: int) -> tuple[DimensionWord, ...]:
        """Return the strongest words, as the documents write them."""
        stems = self.index.vocabulary.terms
        strongest = _largest(self.loadings, count)
        named = [stems[term] for term in strongest]
        forms = written_forms(self.index, self.snapshot, named, self.cosines)
        return tuple(
            DimensionWord(
                forms.get(stems[term], stems[term]), self.sign * float(self.loadings[term])
            )
            for term in strongest
        )

    def documents(self, count: int) -> tuple[DimensionDocument, ...]:
        """Return the documents nearest to the end, those that are still there."""
        there = self._details(_largest(self.cosines, _SPARE * count), 0)
        return tuple(
            DimensionDocument(each.id, each.title, self.sign * float(self.cosines[place]))
            for place, each in islice(there.items(), count)
        )

    def _details(self, places: list[int], characters: int) -> dict[int, Details]:
        """Read documents by their places in the index, leaving out what was deleted."""
        rows = self.index.document_rows[places].tolist()
        found = self.snapshot.documents.details(rows, characters)
        return {place: found[row] for place, row in zip(places, rows, strict=True) if row in found}


def _largest(values: NDArray[np.float64], count: int) -> list[int]:
    """Return the places of the largest values that are above 0."""
    order = np.argsort(-values, kind="stable")[:count]
    return [int(place) for place in order if values[place] > 0]

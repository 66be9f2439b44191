"""Documents, labels, vectors and status of a local library."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any

from lpisearch.calls.given import each_label
from lpisearch.calls.holding import Contents
from lpisearch.library.opened import Opened
from lpisearch.records import Document, Entry, Filter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.records import LabelReport, PredictedLabel


class Holding(Opened, Contents):
    """What is there."""

    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""
        from lpisearch.maintenance.documents import every_document

        return every_document(self._session)

    def _listing(
        self, wanted: Filter, limit: int, offset: int, sort: str
    ) -> tuple[list[Entry], int]:
        from lpisearch.maintenance.documents import list_documents

        return list_documents(self._session, wanted, limit, offset, sort)

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Return names that begin so: of "label", "index" or "document".

        Examples
        --------
        >>> library.names("document", "fir")
        ['first.txt']
        """
        from lpisearch.maintenance.names import names_that_begin

        return names_that_begin(self._session, kind, beginning, most)

    def document(self, name: str) -> Document:
        """Return one document by its id or path.

        Examples
        --------
        >>> library.document("first.txt").title
        'A letter'
        """
        from lpisearch.maintenance.documents import show_document

        return show_document(self._session, name)

    def label(
        self,
        *documents: str,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        where: Filter | None = None,
    ) -> LabelReport:
        """Give documents labels and take others away, whatever their sources say, now and later.

        A label that was predicted for a document is settled so: accepted or rejected.

        Parameters
        ----------
        *documents
            Ids or paths.
        add, remove
            One label or several.
        where
            In place of names: all documents that pass it.

        Examples
        --------
        >>> library.label("first.txt", add="read")
        LabelReport(documents=1, added=1, removed=0)
        >>> library.label("first.txt", remove="read").removed
        1
        """
        from lpisearch.maintenance.labels import label_documents

        chosen = where or Filter()
        return label_documents(
            self.path, documents, chosen, add=each_label(add), remove=each_label(remove)
        )

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the labels that were predicted for a document, most probable first."""
        with self._session.reading() as snapshot:
            key = snapshot.documents.only(name)
            return snapshot.labels.predicted([key]).get(key, ())

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        from lpisearch.maintenance.predicting import forget_predicted

        return forget_predicted(self.path, documents, where or Filter())

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows at unit length.

        Examples
        --------
        >>> ids, vectors = library.vectors()
        >>> len(ids) == len(vectors)
        True
        """
        return self._searcher().vectors(index)

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:
        """Return the vector of a question, at unit length, to be compared with those of documents.

        Its inner product with a vector of `vectors` is the cosine that semantic search ranks by.

        Examples
        --------
        >>> library.vector("letter").shape == (library.vectors()[1].shape[1],)
        True
        """
        return self._searcher().vector(text, index)

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and the size on disk.

        Examples
        --------
        >>> library.status()["documents"]
        2
        """
        from lpisearch.maintenance.status import library_status

        return library_status(self._session)

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        return self._searcher().state()

    def is_source(self, path: str) -> bool:
        """Tell whether a file is one that was brought in, by the path that it had."""
        with self._session.reading() as snapshot:
            return path in snapshot.sources.known()

    def writer(self) -> str:
        """Return who is writing to the library now; "" if nobody is."""
        from lpisearch.storage import writer_of

        return writer_of(self.path)

    def delete(self, *names: str) -> int:
        """Remove documents by id or path, all or none; return how many."""
        from lpisearch.maintenance.documents import delete_documents

        return delete_documents(self.path, names)

    def export(
        self,
        target: Path | IO[str],
        wanted: Filter | None = None,
        *,
        force: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> int:
        """Write documents as JSON Lines, which `ingest` turns into the same documents again.

        Parameters
        ----------
        target
            A file, or an open stream of text.
        wanted
            Only those that pass it.
        force
            Replace a file that is no export.
        on_stage
            Told now and then how many were written.
        """
        from lpisearch.maintenance.documents import export_documents

        wanted = wanted or Filter()
        return export_documents(self._session, target, wanted, force=force, on_stage=on_stage)

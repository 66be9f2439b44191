"""Write protocols of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from lpisearch.storage.contract.reading import Indexes, IndexFiles, Labels, Settings, Sources

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from lpisearch.records import (
        DamagedDocument,
        DocumentWrite,
        FailedFile,
        Finding,
        LabelShare,
        Source,
        StoredPlace,
    )
    from lpisearch.storage.contract.entries import IndexEntry


class DocumentChanges(Protocol):
    """Writes of documents; labels, tokens and lexical index are kept in step with each."""

    def at(self, ids: Iterable[str], places: Iterable[tuple[int, int]]) -> list[StoredPlace]:
        """Return the documents that have any of the ids or (source, position) places.

        A record that is gone is found at the position that it had.
        """

    def new_keys(self) -> Iterator[int]:
        """Count up keys that no document has."""

    def of_source(self, source_id: int) -> list[int]:
        """Return the keys of a source's documents."""

    def insert(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Insert documents."""

    def replace(self, writes: Sequence[DocumentWrite], now: str) -> None:
        """Put new content in the place of documents."""

    def move(self, writes: Sequence[DocumentWrite]) -> None:
        """Note a new place of documents whose content is unchanged; tokens are not looked at."""

    def mark_gone(self, keys: Iterable[int]) -> None:
        """Note that the records of documents are gone from their files."""

    def delete_gone(self, source_ids: Iterable[int]) -> None:
        """Remove the documents of sources whose records are gone from their files."""

    def delete(self, keys: Iterable[int]) -> None:
        """Remove documents with everything that belongs to them."""

    def replace_tokens(self, tokens: Mapping[int, str]) -> None:
        """Give documents new tokens, by key."""


class WritableLabels(Labels, Protocol):
    """Labels, to be written."""

    def edit(
        self, keys: Iterable[int], add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> tuple[int, int]:
        """Give documents labels and take others away; return how many came and went.

        What is said here holds for new content of the documents too. A label that was predicted
        is predicted no longer once it is given or taken away.
        """

    def predict(self, said: Mapping[int, Sequence[LabelShare]], classifier: str, now: str) -> None:
        """Keep what a classifier says of documents, in place of what was said of them before.

        It goes with the content that it was said of.
        """

    def forget_predicted(self, keys: Iterable[int]) -> int:
        """Remove what was predicted for documents; return for how many something was."""


class WritableIndexes(Indexes, Protocol):
    """The register of indexes, to be written."""

    def save(self, entry: IndexEntry) -> None:
        """Put an index in use, instead of the one that had its name."""


class WritableSettings(Settings, Protocol):
    """Settings, to be written."""

    def set(self, name: str, value: Mapping[str, Any]) -> None:
        """Store a setting, replacing what it was."""


class WritableIndexFiles(IndexFiles, Protocol):
    """The files of indexes, to be written."""

    def write(self, folder: str, files: Iterable[Path]) -> None:
        """Keep the files of an index."""

    def sweep(self, keep: Iterable[str]) -> None:
        """Remove the files of all indexes but those in these folders."""


class ExportedVectors(Protocol):
    """Vectors of documents in tables that other programs read."""

    def replace(
        self, index: str, dims: int, rows: Iterable[tuple[int, str, Iterable[float]]]
    ) -> str:
        """Put the vectors of an index, as (key, id, vector), into a table; return its name.

        Raises
        ------
        VectorsUnavailable
        """


class WritableSources(Sources, Protocol):
    """The files that documents came from, to be written."""

    def reserve(self, number: int) -> int:
        """Return the first of so many keys that no other source will get."""

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources, replacing what was known of them."""

    def delete(self, ids: Iterable[int]) -> None:
        """Forget sources; any document that is left of them goes too."""

    def save_failed(self, files: Sequence[FailedFile]) -> None:
        """Write files that could not be read, replacing what was known of them."""

    def forget_failed(self, paths: Iterable[str]) -> None:
        """Forget that files could not be read."""


class Health(Protocol):
    """Damage in a library, and what can be mended from the documents themselves."""

    def findings(self) -> list[Finding]:
        """Look at everything."""

    def damaged_documents(self) -> list[DamagedDocument]:
        """Return the documents that are not as they were written, and where they came from."""

    def untokenised(self) -> list[int]:
        """Return the keys of documents that have no tokens, or not those that were written."""

    def repair(self) -> dict[str, int]:
        """Remove what belongs to no document, and build the lexical index anew.

        Returns
        -------
        dict
            How many of what is gone for good, by what it is called.
        """

    def repair_rows(self) -> list[str]:
        """Let files be read again, and forget indexes, whose rows are not as written.

        Returns
        -------
        list of str
            The indexes that were forgotten.
        """

    def give_up(self, documents: Iterable[DamagedDocument]) -> None:
        """Note that documents are not as written: what their files have now takes their place."""

"""A store, a snapshot of it and a transaction."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, Self

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from lpisearch.places import Place
    from lpisearch.storage.contract.reading import (
        Corpus,
        Documents,
        Indexes,
        Labels,
        Lexical,
        Settings,
        Sources,
    )
    from lpisearch.storage.contract.writing import (
        DocumentChanges,
        ExportedVectors,
        Health,
        WritableIndexes,
        WritableIndexFiles,
        WritableLabels,
        WritableSettings,
        WritableSources,
    )


class Store(Protocol):
    """An open library; a context manager that closes it."""

    @property
    def path(self) -> Place:
        """Where it is."""

    @property
    def writable(self) -> bool:
        """Whether `writing` may be called."""

    def reading(self) -> AbstractContextManager[Snapshot]:
        """Give a view of one unchanging state."""

    def writing(self, *, durable: bool = False) -> AbstractContextManager[Transaction]:
        """Give a transaction, kept when its block ends and undone when the block raises.

        Parameters
        ----------
        durable
            Whether it, and all before it, are on disk when the block has ended: a power cut then
            takes none of it back.
        """

    def size_bytes(self) -> int:
        """Return what it takes on the disk."""

    def close(self) -> None:
        """Release it."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *_exception: object) -> None: ...


class Snapshot(Protocol):
    """One unchanging state of a library."""

    @property
    def documents(self) -> Documents:
        """Documents as they are shown."""

    @property
    def labels(self) -> Labels:
        """Labels and splits."""

    @property
    def corpus(self) -> Corpus:
        """Tokens and content hashes."""

    @property
    def lexical(self) -> Lexical:
        """The store's own index over the tokens."""

    @property
    def indexes(self) -> Indexes:
        """The register of subspace indexes."""

    @property
    def settings(self) -> Settings:
        """Settings of the library."""

    @property
    def sources(self) -> Sources:
        """The files that documents came from."""

    @property
    def index_files(self) -> WritableIndexFiles | None:
        """The files of indexes; None where they lie in folders beside the library."""

    @property
    def vectors(self) -> ExportedVectors | None:
        """Vectors for other programs; None where no other program could ask for them."""

    def revision(self) -> str | None:
        """Return the revision of the schema."""

    def state(self) -> str:
        """Return a mark of this state: two snapshots with the same mark hold the same.

        It is read at next to no cost; what was computed from a snapshot holds while it lasts.
        """


class Transaction(Snapshot, Protocol):
    """Changes that are kept together or not at all."""

    @property
    def changes(self) -> DocumentChanges:
        """Writes of documents."""

    @property
    def labels(self) -> WritableLabels:
        """Labels, to be written."""

    @property
    def indexes(self) -> WritableIndexes:
        """The register of subspace indexes."""

    @property
    def settings(self) -> WritableSettings:
        """Settings of the library."""

    @property
    def sources(self) -> WritableSources:
        """The files that documents came from."""

    @property
    def health(self) -> Health:
        """Damage, and its repair."""

    def rollback(self) -> None:
        """Undo what was written so far; the transaction is over."""

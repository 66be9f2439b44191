"""Read protocols of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

    from lpisearch.records import (
        Details,
        Document,
        Entry,
        FailedFile,
        Filter,
        PredictedLabel,
        Section,
        Source,
        TokenShard,
    )
    from lpisearch.storage.contract.entries import IndexEntry


class Documents(Protocol):
    """Documents as they are shown: one, a page of a listing, or all in a stream."""

    def find(self, name: str) -> list[int]:
        """Return the key of the document with an id; or of those whose file has the path."""

    def only(self, name: str) -> int:
        """Return the key of the one document that an id or a path means.

        Raises
        ------
        DocumentNotFound, SeveralDocuments
        """

    def load(self, keys: Sequence[int]) -> list[Document]:
        """Return whole documents in the order of keys; one that is gone is left out."""

    def stream(self, wanted: Filter) -> Iterator[Document]:
        """Yield whole documents in the order of keys, a few at a time in memory."""

    def entries(self, wanted: Filter, limit: int, offset: int, sort: str = "added") -> list[Entry]:
        """Return a page of the listing; all of it at a limit of -1.

        Parameters
        ----------
        sort
            One of `lpisearch.settings.ENTRY_SORTS`: in the order of keys; newest date first, or
            oldest; by title, path or id. What has no date or title comes last.
        """

    def details(self, keys: Sequence[int], characters: int = 200_000) -> dict[int, Details]:
        """Return what is shown of documents, by key; one that is gone is left out.

        Parameters
        ----------
        keys
            Of the documents.
        characters
            How much of each text is wanted; at 0 none is read.
        """

    def texts(
        self, keys: Iterable[int], characters: int | None = None
    ) -> Iterator[tuple[int, str, str]]:
        """Yield key, title and text (or its beginning), by key, a few at a time in memory."""

    def parts(self, wanted: Sequence[tuple[int, int, int]]) -> list[str]:
        """Return parts of texts, each given as (key, start, end); "" of one that is gone."""

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents that have any, by key."""

    def count(self, wanted: Filter) -> int:
        """Return how many documents pass a filter.

        Raises
        ------
        BadOption
            A date of the filter is none; so do all that take a filter.
        """

    def keys(self) -> list[int]:
        """Return all keys in order."""

    def ids(self) -> dict[int, str]:
        """Return the id of every document, by key."""

    def traits(self) -> list[tuple[int, str, str, str, str]]:
        """Return key, split, date, path and media type of every document, in order of keys."""


class Labels(Protocol):
    """Labels and splits. Labels are those that people gave, unless `predicted` is in the name."""

    def names(self) -> list[str]:
        """Return all labels, each once, in order."""

    def counts(self) -> dict[str, int]:
        """Return how many documents have each label, by name."""

    def by_key(self, wanted: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""

    def pairs(self) -> list[tuple[int, str]]:
        """Return (key, label) of every label of every document."""

    def predicted_counts(self) -> dict[str, int]:
        """Return for how many documents each label was predicted, by name."""

    def predicted(self, keys: Sequence[int]) -> dict[int, tuple[PredictedLabel, ...]]:
        """Return what was predicted for documents, most probable first, by key."""

    def rejected(self, keys: Sequence[int]) -> dict[int, set[str]]:
        """Return the labels that people took away from documents, by key."""

    def split_counts(self) -> dict[str, int]:
        """Return how many documents are in each split; those in none are left out."""

    def splits_by_key(self, wanted: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""


class Corpus(Protocol):
    """Tokens and content hashes in one fixed order, for those who count and learn."""

    def shards(
        self, wanted: Filter, between: tuple[int, int] | None = None
    ) -> Iterator[TokenShard]:
        """Yield the tokens of all documents that pass a filter, some at a time, by key.

        With `between`, only those from one key to another, both included.
        """

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents, in the order of the keys given; "" if lost."""

    def content_hashes(self, wanted: Filter) -> dict[int, bytes]:
        """Return the content hash of every document that passes a filter, in order of keys."""

    def stream_hashes(self, wanted: Filter) -> Iterator[tuple[int, bytes]]:
        """Yield key and content hash of every document that passes a filter, in order of keys."""

    def fingerprint(self, wanted: Filter) -> str:
        """Return `fingerprint` of the content hashes, without holding them."""

    def size(self, wanted: Filter, long: int = 0) -> tuple[int, int, int]:
        """Return how many documents pass a filter, and the characters of their tokens.

        Third, the characters of those documents that have `long` or more.
        """

    def count_and_sum(self, wanted: Filter) -> tuple[int, int]:
        """Return how many documents pass a filter, and the sum of their keys: cheap to compare."""


class Prefix(str):
    """The beginning of a token, in place of a token: all that begin so are meant."""

    __slots__ = ()


class Demands(Protocol):
    """What must and must not occur in a document."""

    @property
    def phrases(self) -> Sequence[Sequence[str]]:
        """All of them must occur."""

    @property
    def excluded(self) -> Sequence[Sequence[str]]:
        """None of them may occur."""


class Lexical(Protocol):
    """The store's own index over the tokens.

    A phrase is found where its tokens stand one directly after the other among the tokens of a
    document. A token may be a `Prefix`.
    """

    def allowed(self, where: Filter, demands: Demands | None = None) -> set[int] | None:
        """Return the keys that pass a filter and meet the demands; None if nothing is asked."""

    def candidates(self, alternatives: Sequence[Sequence[str]]) -> set[int]:
        """Return the documents that may have a phrase, each of whose tokens may be one of several.

        Where each is one, they stand one directly after the other; else in any order. A long
        phrase may be looked for by its beginning alone.
        """

    def some_with(self, token: str, limit: int) -> list[int]:
        """Return a few documents that have a token."""

    def bm25(
        self, tokens: Sequence[str], allowed: AbstractSet[int] | None = None
    ) -> list[tuple[int, float]]:
        """Return (key, BM25) of each document that has any of the tokens, in the order of keys.

        The higher the better. A token that is given twice counts twice. With `allowed`, only
        these; the score of a document does not depend on it.
        """

    def count_terms(self, least_documents: int) -> int:
        """Return how many terms occur in at least so many documents of the whole library."""

    def terms_between(self, *ranges: tuple[str, str]) -> list[tuple[str, int]]:
        """Return the terms from one word on and before another, with the documents of each."""


class Indexes(Protocol):
    """Which subspace indexes the library has, and in which folder each is."""

    def entries(self) -> list[IndexEntry]:
        """Return all indexes by name."""


class Settings(Protocol):
    """Settings kept in the library itself."""

    def get(self, name: str) -> dict[str, Any] | None:
        """Return a setting, or None if it was never stored."""


class Sources(Protocol):
    """The files that documents came from, and how far they were read."""

    def known(self) -> dict[str, Source]:
        """Return all sources by path."""

    def unfinished(self) -> list[str]:
        """Return the paths of files that a run began to read and did not finish cleanly."""

    def failed(self) -> dict[str, FailedFile]:
        """Return the files that could not be read without a failure, by path."""

    def next_id(self) -> int:
        """Return the first free key of a source."""

    def elsewhere(self) -> set[int]:
        """Return the keys of sources that another machine has read, whose files are not here."""


class IndexFiles(Protocol):
    """The files of indexes, where a store keeps them itself."""

    def names(self, folder: str) -> list[str]:
        """Return the names of the files of an index; none if it is not kept."""

    def read(self, folder: str, name: str) -> Iterator[bytes]:
        """Yield a file, some at a time."""

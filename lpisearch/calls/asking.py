"""Search methods that turn keyword arguments into options."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lpisearch.calls.given import search_options, warned
from lpisearch.records import Classification, Document
from lpisearch.settings import ClassifyOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Sequence

    from lpisearch.records import Answer, Run


class Questions(ABC):
    """Search, similar documents, batches and classes, as every library is asked for them."""

    def search(
        self,
        text: str,
        *,
        k: int | None = None,
        by: str | None = None,
        label: str | Sequence[str] = (),
        index: str | None = None,
        sort: str | None = None,
        explain: bool = False,
        facets: bool = False,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> Answer:
        """Find documents by meaning and by words, best first.

        Parameters
        ----------
        text
            The question. A "quoted phrase" must occur, a -word must not.
        k
            How many hits at most: 10 if not given.
        by
            "hybrid" if not given, "semantic" or "lexical".
        label
            Only documents with this label, or with one of these.
        index
            The name of the index: "default" if not given.
        sort
            "relevance" if not given; or the best hits by "date" (newest first), "oldest", "title"
            or "path".
        explain
            Say of each hit which words make it near.
        facets
            Count by label, split, folder, format and date all that may be found.
        like, unlike
            Ids of documents that the question moves towards, or away from.
        options
            All the rest, such as an offset or other filters; what is given above goes before.

        Returns
        -------
        Answer
            A sequence of hits, with `notes` of what is to be known: no index yet, unknown words.

        Examples
        --------
        >>> [hit.id for hit in library.search("letter", by="lexical")]
        ['first.txt']
        """
        wanted = search_options(options, k, by, label, index, sort=sort, explain=explain)
        wanted = replace(wanted, facets=facets or wanted.facets)
        return self._search(text, wanted, like, unlike)

    query = search

    @abstractmethod
    def _search(
        self, text: str, wanted: SearchOptions, like: Sequence[str], unlike: Sequence[str]
    ) -> Answer:
        """Find documents."""

    def similar(
        self,
        document: str | Path | Document,
        *,
        k: int | None = None,
        by: str | None = None,
        label: str | Sequence[str] = (),
        index: str | None = None,
        files: bool = True,
        options: SearchOptions | None = None,
    ) -> Answer:
        """Find documents that are like one: of the library by id or path, any other, or a file.

        Parameters
        ----------
        document
            By its id or path, or any other document.
        k, by, label, index, options
            As for `search`.
        files
            Whether a name that no document has may be that of a file, which is read.

        Examples
        --------
        >>> [hit.id for hit in library.similar("first.txt", by="semantic")]
        ['second.txt']
        """
        wanted = search_options(options, k, by, label, index)
        like = document if isinstance(document, Document) else os.fspath(document)
        return self._similar(like, wanted, files=files)

    @abstractmethod
    def _similar(self, document: str | Document, wanted: SearchOptions, *, files: bool) -> Answer:
        """Find documents that are like one."""

    def batch(
        self,
        queries: Iterable[tuple[str, str]] | Path,
        *,
        options: SearchOptions | None = None,
        on_note: Callable[[str], None] = warned,
    ) -> Generator[Run, None, None]:
        """Answer many queries, given as (id, text) or by a file of them.

        Parameters
        ----------
        queries
            Read as they are needed.
        options
            How to answer each.
        on_note
            Called with what is to be known of the answers: no index yet, unknown words, an index
            that is behind. If not given, each is a `UserWarning`.

        Yields
        ------
        tuple
            The query's id, and the ids of documents with their scores.
        """
        from lpisearch.readers.queries import read_queries

        asked = read_queries(queries) if isinstance(queries, Path) else queries
        return self._batch(asked, options or SearchOptions(), on_note)

    @abstractmethod
    def _batch(
        self,
        queries: Iterable[tuple[str, str]],
        wanted: SearchOptions,
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        """Answer many queries."""

    def classify(
        self,
        what: str | Path,
        *,
        k: int = 5,
        classifier: str = "auto",
        index: str = "default",
        confidence: float = 0.5,
    ) -> Classification:
        """Judge a text, or the first document of a file, by the labels of the library.

        Parameters
        ----------
        what
            A string is a text; a `Path` is read as `ingest` would read it.
        k
            How many labels.
        classifier
            "auto", the best on what was held out while indexing, or "centroid", "knn", "map-svm",
            "svm", "svm+centroid" or "svm+map-svm".
        index
            The name of the index, which has learned the labels.
        confidence
            Where the best label has a smaller share, `none_of_these` is true.

        Examples
        --------
        >>> judged = library.classify("my chain slips on the smallest sprocket")
        >>> judged.labels[0].label
        'bicycles'
        """
        return self._classify(what, ClassifyOptions(classifier, k, index, confidence))

    @abstractmethod
    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        """Judge a text or a file."""

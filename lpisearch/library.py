"""The Python face of lpisearch: a library of documents, and what can be done with it.

Each method imports its workflow when it is called, so that `import lpisearch` stays light.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from lpisearch.errors import DocumentNotFound
from lpisearch.records import Document, Filter
from lpisearch.settings import EvaluateOptions, IndexOptions, IngestOptions, SearchOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.records import (
        Answer,
        Classification,
        Entry,
        Finding,
        Hit,
        IndexReport,
        IngestReport,
        Progress,
        Report,
        TopicReport,
    )
    from lpisearch.settings import (
        CategoriesOptions,
        ClassifyOptions,
        ClusterOptions,
        RetrievalOptions,
        SimilarityOptions,
    )

    Wanted = CategoriesOptions | ClusterOptions | RetrievalOptions | SimilarityOptions

DEFAULT_PATH = "lpisearch.db"


def default_path() -> Path:
    """Return the library that is meant where none is named: `LPISEARCH_DB`, or `lpisearch.db`."""
    return Path(os.environ.get("LPISEARCH_DB") or DEFAULT_PATH)


def open_library(path: str | os.PathLike[str] | None = None) -> Library:
    """Name a library of documents; the first `ingest` makes it.

    Parameters
    ----------
    path
        The database file; `LPISEARCH_DB` or `lpisearch.db` if not given.

    Examples
    --------
    >>> import lpisearch
    >>> library = lpisearch.open("notes.db")
    """
    return Library(Path(path) if path is not None else default_path())


@dataclass(frozen=True, slots=True)
class Library:
    """A library of documents on disk.

    Attributes
    ----------
    path
        The database file. Nothing is opened until a method needs it, and nothing stays open.
    """

    path: Path

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Bring in the documents of files, folders and globs; unchanged files cost nothing.

        Examples
        --------
        >>> library = lpisearch.open("notes.db")
        >>> report = library.ingest("letters")
        >>> report.added, report.failed
        (2, 0)
        """
        from lpisearch.ingest.ingesting import run_ingest

        names = [os.fspath(path) for path in paths]
        return run_ingest(self.path, names, options or IngestOptions(), on_progress)

    def index(
        self,
        method: str = "rlpi",
        *,
        options: IndexOptions | None = None,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> IndexReport:
        """Build a subspace index and put it in use; the one before stays in use until then.

        Parameters
        ----------
        method
            "rlpi", "olpi", "lpi" or "lsi".
        options
            All the rest; its `method` is not looked at.
        on_stage
            Called with the name of each stage as it begins.

        Examples
        --------
        >>> library.index(method="lsi").documents
        2
        """
        from lpisearch.indexes.build import build_index

        wanted = replace(options or IndexOptions(), method=method)
        return build_index(self.path, wanted, on_stage)

    def query(
        self,
        text: str,
        *,
        k: int = 10,
        by: str = "hybrid",
        label: str | Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> list[Hit]:
        """Find documents by meaning and by words, best first.

        Parameters
        ----------
        text
            The question. A "quoted phrase" must occur, a -word must not.
        k
            How many hits.
        by
            "hybrid", "semantic" or "lexical".
        label
            Only documents with this label, or with one of these.
        options
            All the rest, such as an offset or other filters.

        Examples
        --------
        >>> [hit.id for hit in library.query("letter", by="lexical")]
        ['first.txt']
        """
        from lpisearch.search.asking import run_search

        return list(run_search(self.path, text, _search_options(k, by, label, options)).hits)

    def similar(
        self,
        document: str | Path | Document,
        *,
        k: int = 10,
        by: str = "hybrid",
        label: str | Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> list[Hit]:
        """Find documents that are like one: of the library by id or path, any other, or a file.

        Examples
        --------
        >>> [hit.id for hit in library.similar("first.txt", by="semantic")]
        ['second.txt']
        """
        wanted = _search_options(k, by, label, options)
        return list(self.similar_to(document, wanted).hits)

    def similar_to(self, document: str | Path | Document, options: SearchOptions) -> Answer:
        """Do the same, and give the answer with its notes."""
        from lpisearch.ingest.inputs import first_document
        from lpisearch.search.asking import run_similar

        if isinstance(document, Document):
            return run_similar(self.path, document, options)
        name = os.fspath(document)
        try:
            return run_similar(self.path, name, options)
        except DocumentNotFound:
            return run_similar(self.path, first_document(name), options)

    def classify(
        self,
        what: str | Path,
        *,
        k: int = 5,
        by: str = "centroid",
        index: str = "default",
    ) -> Classification:
        """Judge a text, or the first document of a file, by the labels of the library.

        Parameters
        ----------
        what
            A string is a text; a `Path` is read as `ingest` would read it.
        k
            How many labels.
        by
            "centroid", "knn" or "svm".
        index
            The name of the index, which has learned the labels.

        Examples
        --------
        >>> judged = library.classify("my chain slips on the smallest sprocket")
        >>> judged.labels[0].label
        'bicycles'
        """
        from lpisearch.search.classifying import Judge
        from lpisearch.settings import ClassifyOptions

        options = ClassifyOptions(by, k, index)
        if isinstance(what, Path):
            return next(self.classify_each([str(what)], options))
        return Judge(self.path, options).text(what)

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Judge what the arguments mean: files that exist (and "-"), or else one text.

        Yields
        ------
        Classification
            One for the text, or one for each document of the files.
        """
        from lpisearch.ingest.inputs import name_files, read_inputs
        from lpisearch.records import Classification
        from lpisearch.search.classifying import Judge

        judge = Judge(self.path, options)
        if not name_files(arguments):
            yield judge.text(" ".join(arguments))
            return
        for each in read_inputs(arguments):
            if each.document is None:
                yield Classification(each.name, note=each.reason, failed=True)
            else:
                yield judge.document(each.name, each.document)

    def topics(
        self,
        number: int | None = None,
        *,
        terms: int = 8,
        documents: int = 3,
        seed: int = 0,
        index: str = "default",
    ) -> TopicReport:
        """Find what the library is about: clusters of documents in the subspace.

        Parameters
        ----------
        number
            Of topics; None reads it off the spectrum of the index.
        terms, documents
            How many of each to show for a topic.
        seed
            Of every random choice.
        index
            The name of the index.

        Examples
        --------
        >>> report = library.topics()
        >>> report.topics[0].terms[:3]
        ('star', 'telescope', 'sun')
        """
        from lpisearch.search.topics import find_topics
        from lpisearch.settings import TopicOptions

        return find_topics(self.path, TopicOptions(number, terms, documents, seed, index))

    def evaluate(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[float]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
    ) -> Report:
        """Measure the index, and others beside it, on labelled documents and judged queries.

        Parameters
        ----------
        what
            "similarity", "classify", "cluster" or "retrieval"; "all" is what the labels allow.
        options
            What is compared: methods, dimensions, ….
        wanted
            What is measured, such as `CategoriesOptions` for "classify". Retrieval needs it, for
            the names of its files.
        over
            A parameter and the values that it takes in turn, such as ("dims", [10, 20, 50]).
        on_cell
            Called as each part begins, with its name, how many are done, and how many there are.

        Examples
        --------
        >>> report = library.evaluate(
        ...     "classify",
        ...     options=lpisearch.EvaluateOptions(methods=("terms", "rlpi")),
        ...     wanted=lpisearch.CategoriesOptions(train=(0.5,), classifiers=("centroid",)),
        ... )
        >>> rows = report.tables[0].rows
        >>> [(row["representation"], row["repeats"], row["accuracy"] > 0.9) for row in rows]
        [('terms', 10, True), ('rlpi', 10, True)]
        """
        from lpisearch.evaluation.experiments.evaluate import evaluate

        return evaluate(
            self.path,
            what,
            options=options or EvaluateOptions(),
            wanted=wanted,
            over=over,
            on_cell=on_cell,
        )

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and the size on disk.

        Examples
        --------
        >>> library.status()["documents"]
        2
        """
        from lpisearch.maintenance.upkeep import library_status

        return library_status(self.path)

    def entries(self, wanted: Filter | None = None) -> list[Entry]:
        """List documents in the order of ingest, without their texts.

        Examples
        --------
        >>> [entry.id for entry in library.entries()]
        ['first.txt', 'second.txt']
        """
        from lpisearch.maintenance.documents import list_documents

        return list_documents(self.path, wanted or Filter())[0]

    def document(self, name: str) -> Document:
        """Return one document by its id or path.

        Examples
        --------
        >>> library.document("first.txt").title
        'A letter'
        """
        from lpisearch.maintenance.documents import show_document

        return show_document(self.path, name)

    def delete(self, *names: str) -> int:
        """Remove documents by id or path, all or none; return how many."""
        from lpisearch.maintenance.documents import delete_documents

        return delete_documents(self.path, names)

    def export(self, target: Path | IO[str], wanted: Filter | None = None) -> int:
        """Write documents as JSON Lines, which `ingest` turns into the same documents again."""
        from lpisearch.maintenance.documents import export_documents

        return export_documents(self.path, target, wanted or Filter())

    def examine(self, *, repair: bool = False) -> list[Finding]:
        """Look for damage; with `repair`, mend what can be mended."""
        from lpisearch.maintenance.upkeep import examine

        return examine(self.path, repair=repair)

    def back_up(self, target: Path | None = None) -> Path:
        """Copy the library while it is in use; return the path of the copy."""
        from lpisearch.maintenance.upkeep import back_up_library

        return back_up_library(self.path, target)


def _search_options(
    k: int, by: str, label: str | Sequence[str], options: SearchOptions | None
) -> SearchOptions:
    chosen = options or SearchOptions()
    labels = (label,) if isinstance(label, str) else tuple(label)
    where = replace(chosen.where, labels=labels) if labels else chosen.where
    return replace(chosen, k=k, by=by, where=where)

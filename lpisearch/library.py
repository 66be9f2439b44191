"""Library: open, search, classify, ingest, index, evaluate, maintain."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from html import escape
from pathlib import Path
from threading import RLock
from typing import IO, TYPE_CHECKING, Any, Self, Unpack

from lpisearch.errors import BadOption, DocumentNotFound, LibraryNotFound, SubspaceError
from lpisearch.location import Address, Location, is_own_path, parse_location
from lpisearch.model.documents import Document, Entry, Filter, Traits
from lpisearch.options import (
    ClassifyOptions,
    IndexOptions,
    SearchOptions,
    TopicOptions,
    as_labels,
    index_options,
    ingest_options,
    search_options,
    warn,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.evaluation.page import check_folder as check_folder  # noqa: PLC0414 (re-exported)
    from lpisearch.evaluation.page import write_report as write_report  # noqa: PLC0414 (re-exported)
    from lpisearch.model.answers import (
        Answer,
        Classification,
        DimensionReport,
        DocumentMap,
        Facets,
        Mark,
        Reason,
        Run,
        TopicReport,
    )
    from lpisearch.model.documents import (
        Finding,
        IngestReport,
        LabelReport,
        Original,
        PredictedLabel,
        PredictionReport,
        Progress,
    )
    from lpisearch.model.reports import IndexPlan, IndexReport, Report
    from lpisearch.options import (
        ClassifyFields,
        DimensionOptions,
        EvaluateFields,
        IndexFields,
        IngestOptions,
        SearchFields,
        TopicFields,
    )
    from lpisearch.search.session import Session
    from lpisearch.search.snapshot import Snapshot
    from lpisearch.storage.servers import JobRow as JobRow  # noqa: PLC0414 (re-exported)
    from lpisearch.storage.servers import SavedJob as SavedJob  # noqa: PLC0414 (re-exported)
    from lpisearch.storage.servers import ServerRecords as ServerRecords  # noqa: PLC0414 (as above)
    from lpisearch.text.encoders import Encoding


class Library:
    """An open library of documents.

    Files are opened when they are first needed and released by `close` or at the end of a `with`
    block. Any number of threads may use one library, and another process may write meanwhile: each
    answer is of one state of the library, and a rebuilt index is used as soon as it is there.
    Writers (`ingest`, `index`, `delete`) wait for each other; readers never wait.

    Options are passed as `options=` or by name; names take precedence. `where` filters documents.

    Parameters
    ----------
    path
        A database file, or the address of a database. It may be missing until the first `ingest`.
    encoder
        A model of your own that turns texts into vectors: an `Encoder`, a function of texts, or the
        name of one (docs/encoders.md). None, the default, searches without one.
    """

    def __init__(self, path: Location, encoder: Encoding | None = None) -> None:
        self.path = path
        self._encoding = encoder
        self._lock = RLock()
        self._opened: Session | None = None

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r})"

    def _repr_html_(self) -> str:
        from lpisearch.model.report_text import library_html

        try:
            return library_html(str(self.path), self.status())
        except LibraryNotFound:  # it is created by the first ingest
            return escape(repr(self))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files; the next call opens them again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    @property
    def _session(self) -> Session:
        from lpisearch.search.session import Session

        with self._lock:
            if self._opened is None:
                self._opened = Session(self.path, self._encoding)
            return self._opened

    @contextmanager
    def _snapshot(self, options: SearchOptions) -> Iterator[Snapshot]:
        from lpisearch.numeric.threads import limited_numpy_blas
        from lpisearch.search.notes import check_options

        check_options(options)
        # The products of one query are small: a second thread of BLAS would only wait for more.
        with limited_numpy_blas(), self._session.snapshot(options.index) as snapshot:
            yield snapshot

    # Search and similar documents.

    def search(
        self,
        text: str,
        *,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        options: SearchOptions | None = None,
        **fields: Unpack[SearchFields],
    ) -> Answer:
        """Find documents by meaning and by words, best first.

        Parameters
        ----------
        text
            The query. A "quoted phrase" must occur, a -word must not.
        like, unlike
            Ids of documents that move the query towards them, or away from them.
        options, **fields
            `SearchOptions`, and its fields by name, such as `k=5` or `by="lexical"`; `label` is one
            label or several of which a document must have one; `path`, `split`, `since` and `until`
            are conditions of `Filter`.

        Returns
        -------
        Answer
            A sequence of hits, with `notes` for the user: no index yet, unknown words, corrections.

        Examples
        --------
        >>> [hit.id for hit in library.search("letter", by="lexical")]
        ['first.txt']
        """
        from lpisearch.search.facets import open_facets
        from lpisearch.search.feedback import moved_by_documents
        from lpisearch.search.presentation import present
        from lpisearch.search.query import parse_query
        from lpisearch.search.ranking import score

        options = search_options(options, fields)
        with self._snapshot(options) as snapshot:

            def answered(options: SearchOptions, base: str = "") -> Answer:
                query = parse_query(text, snapshot, options.where, literal=options.literal)
                query = moved_by_documents(query, snapshot, like, unlike)
                return present(score(query, snapshot, options), query, snapshot, options, base)

            def count(where: Filter, base: str) -> Facets:
                facets = answered(replace(options, where=where, k=0), base).facets
                assert facets is not None  # noqa: S101 (as requested)
                return facets

            answer = answered(options)
            if answer.facets is None:
                return answer
            return replace(answer, facets=open_facets(answer.facets, options.where, count))

    query = search

    def similar(
        self,
        document: str | Path | Document,
        *,
        files: bool = True,
        options: SearchOptions | None = None,
        **fields: Unpack[SearchFields],
    ) -> Answer:
        """Find documents similar to one of the library (by id or path), another one, or a file.

        With `files`, a name that no document has may be that of a file, which is read.

        Examples
        --------
        >>> [hit.id for hit in library.similar("first.txt", by="semantic")]
        ['second.txt']
        """
        from lpisearch.search.feedback import like_document
        from lpisearch.search.presentation import present
        from lpisearch.search.ranking import score

        options = search_options(options, fields)
        name = document if isinstance(document, Document) else os.fspath(document)
        with self._snapshot(options) as snapshot:
            if options.by == "semantic":
                snapshot.require_engine()
            try:
                query = like_document(name, snapshot, options.where)
            except DocumentNotFound:
                if isinstance(name, Document) or not files:
                    raise
                from lpisearch.ingest.inputs import first_document

                query = like_document(first_document(name), snapshot, options.where)
            return present(score(query, snapshot, options), query, snapshot, options)

    def batch(
        self,
        queries: Iterable[tuple[str, str]] | Path,
        *,
        options: SearchOptions | None = None,
        on_note: Callable[[str], None] = warn,
    ) -> Generator[Run, None, None]:
        """Answer many queries, given as (id, text) or by a file of them.

        Yields the query's id and the ids of documents with their scores. `on_note` is called with
        the notes of the answers; by default each is a `UserWarning`.
        """
        from lpisearch.readers.judgements import read_queries
        from lpisearch.search.batch import answer_batch

        texts = read_queries(queries) if isinstance(queries, Path) else queries
        return answer_batch(self._session, texts, options or SearchOptions(), on_note=on_note)

    def reason(
        self,
        text: str,
        document: str,
        *,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> Reason:
        """Explain the score that a search gives a document, as an exact sum.

        Examples
        --------
        >>> reason = library.reason("letter", "first.txt", options=SearchOptions(by="lexical"))
        >>> [leg.name for leg in reason.legs]
        ['words', 'title']
        """
        from lpisearch.search.explanation import explain_score
        from lpisearch.search.feedback import moved_by_documents
        from lpisearch.search.query import parse_query

        options = options or SearchOptions()
        with self._snapshot(options) as snapshot:
            query = parse_query(text, snapshot, options.where, literal=options.literal)
            query = moved_by_documents(query, snapshot, like, unlike)
            return explain_score(query, snapshot, document, options)

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where the words of a query, and near words, are in each of some texts.

        Examples
        --------
        >>> [(mark.start, mark.end) for mark in library.marks("letters", "a letter")[0]]
        [(2, 8)]
        """
        from lpisearch.search.passages import marks
        from lpisearch.search.query import parse_words

        with self._snapshot(options or SearchOptions()) as snapshot:
            query = parse_words(text, snapshot, literal=options is not None and options.literal)
            return [marks(query, snapshot, part) for part in parts]

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date.

        Examples
        --------
        >>> [(value.name, value.count) for value in library.facets().formats]
        [('Text', 2)]
        """
        from lpisearch.search.facets import open_facets
        from lpisearch.search.notes import check_labels

        where = where or Filter()
        with self._session.snapshot(None) as snapshot:
            check_labels(where, snapshot)

            def count(where: Filter, base: str = "") -> Facets:
                keys = snapshot.matching(where)
                return snapshot.facets(None if keys is None else keys.ascending, base)

            return open_facets(count(where), where, count)

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the ids of the documents of an index, and their vectors (rows of unit length)."""
        with self._session.snapshot(index) as snapshot:
            opened = snapshot.require_engine().whole_index
            rows, ids = opened.document_rows.tolist(), snapshot.transaction.documents.ids()
            stored = [number for number, row in enumerate(rows) if row in ids]
            return [ids[rows[number]] for number in stored], opened.packed_vectors.at(stored)

    def export_vectors(
        self, target: str | Path, index: str = "default", *, force: bool = False
    ) -> int:
        """Write id, title, labels and vector of the documents of an index; return how many.

        The file is `.npz` (arrays ids, titles, labels, vectors; several labels of a document are
        joined by line ends) or `.parquet`, for which pyarrow must be installed. `force` overwrites
        a file that is not such an export.
        """
        from lpisearch.files import mode_of
        from lpisearch.numeric.row_files import export_vectors

        target = Path(target)
        if is_own_path(target, self.path):
            raise BadOption("target", f"{target} is one of the library's own files")
        ids, vectors = self.vectors(index)
        mode = mode_of(self.path)
        return export_vectors(target, ids, vectors, self.entries(), force=force, mode=mode)

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:
        """Return the vector of a query, at unit length.

        Its inner product with a row of `vectors` is the cosine that semantic search ranks by.
        """
        with self._snapshot(SearchOptions(index=index)) as snapshot:
            tokens = snapshot.index_tokeniser.of_text(text).tokens(text)
            vector = snapshot.require_engine().look_up(tokens).vector
        if not vector.any():
            raise SubspaceError("None of the words is in the index.", "use other words")
        return vector

    def related_words(
        self, text: str, k: int = 10, *, index: str = "default"
    ) -> list[tuple[str, float]]:
        """Return words near a query in the subspace, with what each adds to a cosine, best first.

        The words of the query are left out. The method of the index must be linear.
        """
        from lpisearch.search.explanation import related_words
        from lpisearch.search.query import parse_words

        with self._snapshot(SearchOptions(index=index)) as snapshot:
            return related_words(parse_words(text, snapshot), snapshot, k)

    # Labels and topics that an index has learned.

    def classify(self, what: str | Path, **fields: Unpack[ClassifyFields]) -> Classification:
        """Predict labels for a text, or for the first document of a file (a `Path`).

        The fields are those of `ClassifyOptions`, such as `k=1`.

        Examples
        --------
        >>> predicted = library.classify("my chain slips on the smallest sprocket")
        >>> predicted.labels[0].label
        'bicycles'
        """
        from lpisearch.search.classification import TextClassifier

        options = ClassifyOptions(**fields)
        if isinstance(what, Path):
            return next(self.classify_each([str(what)], options))
        return TextClassifier(self._session, options).text(what)

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Predict labels for the documents of files (and "-"), or else for one text."""
        from lpisearch.ingest.inputs import name_files, read_inputs
        from lpisearch.search.classification import TextClassifier

        classifier = TextClassifier(self._session, options)
        if not name_files(arguments):
            yield classifier.text(" ".join(arguments))
            return
        inputs = read_inputs(arguments)
        yield from classifier.documents((one.name, one.document, one.reason) for one in inputs)

    def topics(
        self,
        number: int | None = None,
        *,
        on_stage: Callable[[str], None] = lambda _name: None,
        **fields: Unpack[TopicFields],
    ) -> TopicReport:
        """List the main topics: clusters of documents in the subspace.

        `number` is read off the spectrum of the index if it is not given. The fields are those of
        `TopicOptions`, such as `terms=5`.

        Examples
        --------
        >>> library.topics().topics[0].terms[:3]
        ('star', 'telescope', 'sun')
        """
        from lpisearch.search.topics import find_topics

        options = TopicOptions(number, **fields)
        return find_topics(self._session, options, on_stage)

    def map(
        self,
        projection: str = "neighbours",
        *,
        number: int | None = None,
        seed: int = 0,
        index: str = "default",
        previous: DocumentMap | None = None,
    ) -> DocumentMap:
        """Lay all documents out in a plane, with their topics and labels.

        "neighbours" keeps similar documents together; "plane" is a linear projection. The positions
        of a `previous` map are reused while the index is the same.
        """
        from lpisearch.search.document_map import map_documents

        options = TopicOptions(number, seed=seed, index=index)
        return map_documents(self._session, options, projection, previous)

    def dimensions(
        self, options: DimensionOptions, *, on_stage: Callable[[str], None] = lambda _stage: None
    ) -> DimensionReport:
        """Describe the dimensions of a sparse method by their words and typical documents."""
        from lpisearch.evaluation.dimensions import show_dimensions

        return show_dimensions(self._session, options, on_stage)

    # Documents and labels.

    def __len__(self) -> int:
        return self.listing(limit=0)[1]

    def __bool__(self) -> bool:
        return True  # also an empty library

    def __iter__(self) -> Iterator[Document]:
        """Iterate over all documents in the order of ingest."""
        from lpisearch.admin.curation import every_document

        return every_document(self._session)

    def entries(
        self, wanted: Filter | None = None, *, path: str = "", sort: str = "added"
    ) -> list[Entry]:
        """List documents without their texts; `path` is a path, an id, a folder or a glob.

        Examples
        --------
        >>> [entry.id for entry in library.entries()]
        ['first.txt', 'second.txt']
        """
        where = wanted or Filter()
        return self.listing(replace(where, path=path or where.path), sort=sort)[0]

    def listing(
        self, wanted: Filter | None = None, *, limit: int = -1, offset: int = 0, sort: str = "added"
    ) -> tuple[list[Entry], int]:
        """Return a page of the listing, and the number of all documents that match."""
        from lpisearch.admin.curation import list_documents

        return list_documents(self._session, wanted or Filter(), limit, offset, sort)

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Complete the name of a "label", an "index" or a "document"."""
        from lpisearch.admin.curation import names_that_begin

        return names_that_begin(self._session, kind, beginning, most)

    def document(self, name: str) -> Document:
        """Return one document by its id or path."""
        from lpisearch.admin.curation import show_document

        return show_document(self._session, name)

    def original(self, name: str, page: int = 1) -> Original:
        """Return how the file of a document looks: a page of a PDF, or a web page.

        A process without rights reads the file. Other formats raise `ReaderError`.
        """
        from lpisearch.ingest.extraction import original_of

        document = self.document(name)
        return original_of(document.path, document.media_type, page)

    def label(
        self,
        *documents: str,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        where: Filter | None = None,
    ) -> LabelReport:
        """Add and remove labels of documents, named by id or path, or filtered.

        Labels set by hand outlive later ingests. A label that was predicted is settled by it:
        accepted or rejected.

        Examples
        --------
        >>> library.label("first.txt", add="read")
        LabelReport(documents=1, added=1, removed=0)
        """
        from lpisearch.admin.curation import label_documents

        added, removed = as_labels(add), as_labels(remove)
        return label_documents(self.path, documents, where or Filter(), add=added, remove=removed)

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the predicted labels of a document, most probable first."""
        with self._session.reading() as transaction:
            key = transaction.documents.only(name)
            return transaction.labels.predicted([key]).get(key, ())

    def traits(self, name: str) -> Traits:
        """Return what the program found out about a document: its language and its kind."""
        with self._session.reading() as transaction:
            key = transaction.documents.only(name)
            return transaction.documents.traits_of([key]).get(key) or Traits()

    def predict_labels(
        self,
        *documents: str,
        where: Filter | None = None,
        labelled: bool = False,
        options: ClassifyOptions | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> PredictionReport:
        """Predict and store labels of documents: of all, of those named, or of those filtered.

        Documents that have labels are skipped unless `labelled`. Predicted labels are kept apart
        from others, and an index learns from them only if asked to.
        """
        from lpisearch.admin.curation import predict_labels

        return predict_labels(
            self._session,
            documents,
            where or Filter(),
            options or ClassifyOptions(),
            labelled=labelled,
            on_progress=on_progress,
        )

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        from lpisearch.admin.curation import forget_predicted

        return forget_predicted(self.path, documents, where or Filter())

    def delete(
        self,
        *names: str,
        where: Filter | None = None,
        path: str = "",
        on_note: Callable[[str], None] = warn,
    ) -> int:
        """Remove documents by id or path, or by a filter, all or none; return how many.

        `path` is a folder or a glob. `on_note` is called with a text about labels given by hand
        that are removed with their documents; by default it is a `UserWarning`.
        """
        from lpisearch.admin.curation import delete_documents

        where = where or Filter()
        return delete_documents(self.path, names, replace(where, path=path or where.path), on_note)

    def export(
        self,
        target: Path | IO[str],
        wanted: Filter | None = None,
        *,
        force: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> int:
        """Write documents as JSON Lines, which `ingest` reads again; return how many.

        `force` overwrites a file that is not an export.
        """
        from lpisearch.admin.curation import export_documents

        where = wanted or Filter()
        return export_documents(self._session, target, where, force=force, on_stage=on_stage)

    # Ingest, index and evaluate.

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        labels: str | None = None,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Add the documents of files, folders, globs and standard input ("-").

        Unchanged files cost nothing. `labels` is the option of `ReadOptions`.

        Examples
        --------
        >>> library = lpisearch.open("notes.db")
        >>> report = library.ingest("letters")
        >>> report.added, report.failed
        (2, 0)
        """
        from lpisearch.ingest.ingestion import run_ingest

        names = [os.fspath(path) for path in paths]
        return run_ingest(self.path, names, ingest_options(options, labels), on_progress)

    def plan(self, options: IndexOptions | None = None) -> IndexPlan:
        """Estimate the time and memory that building an index takes."""
        from lpisearch.index.plan import plan_index

        return plan_index(self.path, options or IndexOptions())

    def index(
        self,
        method: str | None = None,
        *,
        options: IndexOptions | None = None,
        on_stage: Callable[[str], None] = lambda _stage: None,
        on_step: Callable[[int, int], None] = lambda _done, _total: None,
        **given: Unpack[IndexFields],
    ) -> IndexReport:
        """Build an index and put it in use; the old one stays in use until then.

        `on_step` is called with the numbers of documents done and in all, where they are known.

        Examples
        --------
        >>> library.index(method="lsi", dims=1).documents
        2
        """
        from lpisearch.index.build import build_index

        chosen, encoder = index_options(options, method, given), self._session.encoder()
        return build_index(self.path, chosen, on_stage, on_step, encoder)

    def evaluate(self, what: str = "all", **fields: Unpack[EvaluateFields]) -> Report:
        """Measure the index, and others for comparison, on labels or judged queries.

        Parameters
        ----------
        what
            "similarity", "classify", "cluster" or "retrieval"; "all" that the labels allow; or
            "spectrum", which gives eigenvalues and bounds and needs no labels.
        options, wanted
            What is compared, and what is measured: such as `CategoriesOptions` for "classify".
            "retrieval" needs `RetrievalOptions`, which name its files.
        over
            A parameter and its values, one after the other, such as ("dims", [10, 20, 50]).
        on_cell
            Called with the name of each part as it begins, and the numbers of parts done and in
            all.
        """
        with self.evaluating(what, keep=False, **fields) as report:
            return report

    def evaluating(
        self, what: str = "all", *, keep: bool = True, **fields: Unpack[EvaluateFields]
    ) -> AbstractContextManager[Report]:
        """Evaluate for a `with` block, at whose end the finished parts are removed from disk.

        An evaluation that was interrupted continues with the next call.
        """
        from lpisearch.evaluation.experiments import evaluating

        return evaluating(self._session, what, keep=keep, **fields)

    # Maintenance.

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, the indexes, and the size."""
        from lpisearch.admin.curation import library_status

        return library_status(self._session)

    def state(self) -> str:
        """Return a token of the library's state: while it is the same, so are all answers."""
        with self._session.reading() as transaction:
            return transaction.state()

    def is_source(self, path: str) -> bool:
        """Tell whether documents came from a file, by its path."""
        with self._session.reading() as transaction:
            return path in transaction.sources.known()

    def writer(self) -> str:
        """Describe the process that is writing to the library; "" if none is."""
        from lpisearch.storage import writer_of

        return writer_of(self.path)

    def examine(
        self, *, repair: bool = False, on_stage: Callable[[str], None] = lambda _name: None
    ) -> list[Finding]:
        """Check for damage, and repair what can be repaired with `repair`."""
        from lpisearch.admin.maintenance import examine

        return examine(self.path, repair=repair, on_stage=on_stage)

    def back_up(self, target: Path | None = None) -> Path:
        """Copy the library while it is in use; return the path of the copy."""
        from lpisearch.admin.maintenance import back_up_library

        return back_up_library(self.path, target)

    def upgrade(self) -> dict[str, Any]:
        """Upgrade an older library to the current schema; every other method does so, too."""
        from lpisearch.admin.maintenance import upgrade_library

        return upgrade_library(self.path)

    def schema_differences(self) -> list[str]:
        """Return how the tables differ from the current schema."""
        from lpisearch.admin.maintenance import check_schema

        return check_schema(self.path)

    def retokenise(self, language: str = "") -> int:
        """Tokenise all documents again, perhaps in another language; return how many."""
        from lpisearch.admin.maintenance import retokenise

        return retokenise(self.path, language)


def open_library(
    path: str | os.PathLike[str] | Address | None = None, *, encoder: Encoding | None = None
) -> Library:
    """Open a library of documents; the first `ingest` creates it.

    Parameters
    ----------
    path
        A database file or an address (`postgresql://USER@HOST/DATABASE`); `default_path` if None.
    encoder
        A model of your own, as of `Library`.

    Examples
    --------
    >>> import lpisearch
    >>> with lpisearch.open("notes.db") as library:
    ...     library.path.name
    'notes.db'
    """
    return Library(default_path() if path is None else parse_location(path), encoder)


def load_search(library: Library) -> None:
    """Import the search code, open the index, count facets and read the lists of words.

    Processes that are forked afterwards share what stays in memory.
    """
    from lpisearch.text.vocabulary import general_words

    with suppress(Exception):  # requests report what is wrong with a library
        library.search("a", options=SearchOptions(k=1, facets=True))
        with library._snapshot(SearchOptions()) as snapshot:  # noqa: SLF001 (of this module)
            for language in snapshot.languages:
                general_words(language)


def server_records(library: Location, file: Path) -> ServerRecords:
    """Return what the servers of a library share; `file` has it where the library cannot."""
    from lpisearch.storage.servers import ServerRecords

    return ServerRecords(library, file)


DEFAULT_PATH = "lpisearch.db"


def default_path() -> Location:
    """Return the default library.

    It is `LPISEARCH_DB`; else `lpisearch.db` in the current folder, if it exists; else the default
    of the settings; else `lpisearch.db`, which need not exist.
    """
    named, here = os.environ.get("LPISEARCH_DB"), Path(DEFAULT_PATH)
    if named or here.exists():
        return parse_location(named or here)
    from lpisearch.config import default_library

    standing = default_library()
    return here if standing is None else standing.value


def method_names() -> list[str]:
    """Return the names of the methods that `Library.index` takes."""
    from lpisearch.methods.catalogue import CATALOGUE

    return list(CATALOGUE)


def graph_names() -> list[str]:
    """Return the names of the graphs that `Library.index` takes."""
    from lpisearch.graphs.base import GRAPHS

    return list(GRAPHS)


def pairs_of(path: str | os.PathLike[str]) -> tuple[tuple[str, str, str], ...]:
    """Read a file of pairs for `Library.index`, with a line `must ID ID` or `cannot ID ID` each."""
    from lpisearch.readers.judgements import read_pairs

    return read_pairs(Path(path))


def __getattr__(name: str) -> Any:
    if name not in {"check_folder", "write_report"}:
        message = f"module 'lpisearch.library' has no attribute {name!r}"
        raise AttributeError(message)
    from lpisearch.evaluation import page

    return getattr(page, name)

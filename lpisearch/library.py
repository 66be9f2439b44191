"""Library: open, ingest, index, search, classify, evaluate, maintain."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import RLock
from typing import IO, TYPE_CHECKING, Any, Self, Unpack

from lpisearch.errors import DocumentNotFound, SubspaceError
from lpisearch.location import parse_location
from lpisearch.model.documents import Document, Entry, Filter
from lpisearch.options import (
    ClassifyOptions,
    EvaluateOptions,
    IndexOptions,
    SearchOptions,
    TopicOptions,
    each_label,
    index_options,
    ingest_options,
    search_options,
    warned,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.location import Address, Location
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
        PredictedLabel,
        PredictionReport,
        Progress,
    )
    from lpisearch.model.reports import IndexPlan, IndexReport, Report
    from lpisearch.options import DimensionOptions, IndexFields, IngestOptions, Setting, Wanted
    from lpisearch.search.session import Session
    from lpisearch.search.snapshot import Snapshot


class Library:
    """An open library of documents.

    Database, tokenisers and indexes are opened when they are first needed, shared by all methods,
    and released by `close` or at the end of a `with` block. Another process may write meanwhile:
    every answer is of one state of the library, and an index that was built anew is taken up.

    Several threads may use one library at the same time. Writers (`ingest`, `index`, `delete`)
    wait for each other, readers wait for nobody.

    Parameters
    ----------
    path
        The database file, or the address of a database. Neither needs to hold anything before the
        first `ingest`.
    """

    def __init__(self, path: Location) -> None:
        self.path = path
        self._lock = RLock()
        self._opened: Session | None = None

    def __repr__(self) -> str:
        return f"Library({str(self.path)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the files. What is asked for afterwards opens them again."""
        with self._lock:
            if self._opened is not None:
                self._opened.close()

    @property
    def _session(self) -> Session:
        from lpisearch.search.session import Session

        with self._lock:
            if self._opened is None:
                self._opened = Session(self.path)
            return self._opened

    # Search and similar documents.

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
        from lpisearch.search.feedback import moved_by_documents
        from lpisearch.search.presentation import present
        from lpisearch.search.query import parse_query
        from lpisearch.search.ranking import score

        options = search_options(options, k, by, label, index, sort=sort, explain=explain)
        options = replace(options, facets=facets or options.facets)
        with self._snapshot(options) as snapshot:
            query = parse_query(text, snapshot, options.where)
            if like or unlike:
                query = moved_by_documents(query, snapshot, like, unlike)
            scores = score(query, snapshot, options)
            return present(scores, query, snapshot, options)

    query = search

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
        try:
            return self._similar(like, wanted)
        except DocumentNotFound:
            if isinstance(like, Document) or not files:
                raise
        from lpisearch.ingest.inputs import first_document

        return self._similar(first_document(like), wanted)

    def _similar(self, document: str | Document, options: SearchOptions) -> Answer:
        from lpisearch.search.feedback import like_document
        from lpisearch.search.presentation import present
        from lpisearch.search.ranking import score

        with self._snapshot(options) as snapshot:
            if options.by == "semantic":
                snapshot.require_engine()
            query = like_document(document, snapshot, options.where)
            return present(score(query, snapshot, options), query, snapshot, options)

    @contextmanager
    def _snapshot(self, options: SearchOptions) -> Iterator[Snapshot]:
        from lpisearch.numeric.threads import limited_numpy_blas
        from lpisearch.search.notes import check_options

        check_options(options)
        # The products of one question are small: a second thread of BLAS would only spin.
        with limited_numpy_blas(), self._session.snapshot(options.index) as snapshot:
            yield snapshot

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
        from lpisearch.readers.judgements import read_queries
        from lpisearch.search.batch import answer_batch

        asked = read_queries(queries) if isinstance(queries, Path) else queries
        return answer_batch(self._session, asked, options or SearchOptions(), on_note=on_note)

    def reason(
        self,
        text: str,
        document: str,
        *,
        options: SearchOptions | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why a search finds a document where it does: its score as an exact sum.

        Examples
        --------
        >>> reason = library.reason("letter", "first.txt", options=SearchOptions(by="lexical"))
        >>> [leg.name for leg in reason.legs]
        ['words']
        """
        from lpisearch.search.explanation import explain_score
        from lpisearch.search.feedback import moved_by_documents
        from lpisearch.search.query import parse_query

        options = options or SearchOptions()
        with self._snapshot(options) as snapshot:
            query = parse_query(text, snapshot, options.where)
            if like or unlike:
                query = moved_by_documents(query, snapshot, like, unlike)
            return explain_score(query, snapshot, document, options)

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where words of a query, and near words, are in each of some texts.

        Examples
        --------
        >>> [(mark.start, mark.end) for mark in library.marks("letters", "a letter")[0]]
        [(2, 8)]
        """
        from lpisearch.search.passages import marks
        from lpisearch.search.query import parse_words

        with self._snapshot(options or SearchOptions()) as snapshot:
            query = parse_words(text, snapshot)
            return [marks(query, snapshot, part) for part in parts]

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date.

        Parameters
        ----------
        where
            Only those that pass it.

        Examples
        --------
        >>> [(each.name, each.count) for each in library.facets().formats]
        [('text/plain', 2)]
        """
        from lpisearch.search.notes import check_labels

        where = where or Filter()
        with self._session.snapshot(None) as snapshot:
            check_labels(where, snapshot)
            keys = snapshot.matching(where)
            return snapshot.facets(None if keys is None else keys.ascending)

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows at unit length.

        Examples
        --------
        >>> ids, vectors = library.vectors()
        >>> len(ids) == len(vectors)
        True
        """
        with self._session.snapshot(index) as snapshot:
            rows = snapshot.require_engine().index.document_rows.tolist()
            names = snapshot.transaction.documents.ids()
            there = [number for number, row in enumerate(rows) if row in names]
            vectors = snapshot.require_engine().index.places.at(there)
            return [names[rows[number]] for number in there], vectors

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:
        """Return the vector of a question, at unit length, to be compared with those of documents.

        Its inner product with a vector of `vectors` is the cosine that semantic search ranks by.

        Examples
        --------
        >>> library.vector("letter").shape == (library.vectors()[1].shape[1],)
        True
        """
        with self._snapshot(SearchOptions(index=index)) as snapshot:
            engine = snapshot.require_engine()
            vector = engine.look_up(snapshot.index_tokeniser.tokens(text)).vector
            if not vector.any():
                raise SubspaceError("None of the words is in the index.", "use other words")
            return vector

    # Classes and topics.

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
        from lpisearch.search.classification import TextClassifier

        options = ClassifyOptions(classifier, k, index, confidence)
        if isinstance(what, Path):
            return next(self.classify_each([str(what)], options))
        return TextClassifier(self._session, options).text(what)

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
        from lpisearch.search.classification import TextClassifier

        judge = TextClassifier(self._session, options)
        if not name_files(arguments):
            yield judge.text(" ".join(arguments))
            return
        read = read_inputs(arguments)
        yield from judge.each((each.name, each.document, each.reason) for each in read)

    def topics(
        self,
        number: int | None = None,
        *,
        terms: int = 8,
        documents: int = 3,
        seed: int = 0,
        index: str = "default",
        on_stage: Callable[[str], None] = lambda _name: None,
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
        on_stage
            Called with the name of each stage as it begins.

        Examples
        --------
        >>> report = library.topics()
        >>> report.topics[0].terms[:3]
        ('star', 'telescope', 'sun')
        """
        from lpisearch.search.topics import find_topics

        options = TopicOptions(number, terms, documents, seed, index)
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
        """Place all documents in a plane, with their topics and labels.

        Parameters
        ----------
        projection
            "neighbours" keeps near documents together; "plane" is a linear projection.
        number
            Of topics; None reads it off the spectrum of the index.
        seed
            Of every random choice.
        index
            The name of the index.
        previous
            A map that was drawn before: where the index is the same, so are the places, and only
            labels and titles are read anew.

        Examples
        --------
        >>> drawn = library.map("plane")
        >>> drawn.places.shape == (len(drawn.ids), 2)
        True
        """
        from lpisearch.search.document_map import map_documents

        options = TopicOptions(number, seed=seed, index=index)
        return map_documents(self._session, options, projection, previous)

    def dimensions(
        self,
        options: DimensionOptions,
        *,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> DimensionReport:
        """Give the dimensions of a sparse map by their words and typical documents."""
        from lpisearch.evaluation.dimensions import show_dimensions

        return show_dimensions(self._session, options, on_stage)

    # Documents and labels.

    def __len__(self) -> int:
        return self.listing(limit=0)[1]

    def __bool__(self) -> bool:
        return True  # an empty library is a library

    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""
        from lpisearch.admin.listing import every_document

        return every_document(self._session)

    def entries(
        self, wanted: Filter | None = None, *, path: str = "", sort: str = "added"
    ) -> list[Entry]:
        """List documents without their texts.

        Parameters
        ----------
        wanted
            Only those that pass it.
        path
            Only those with this path or id, below this folder, or with one that this glob means.

        Examples
        --------
        >>> [entry.id for entry in library.entries()]
        ['first.txt', 'second.txt']
        """
        chosen = wanted or Filter()
        return self.listing(replace(chosen, path=path or chosen.path), sort=sort)[0]

    def listing(
        self,
        wanted: Filter | None = None,
        *,
        limit: int = -1,
        offset: int = 0,
        sort: str = "added",
    ) -> tuple[list[Entry], int]:
        """Return a page of the listing, and how many documents there are in all."""
        from lpisearch.admin.listing import list_documents

        return list_documents(self._session, wanted or Filter(), limit, offset, sort)

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Return names that begin so: of "label", "index" or "document".

        Examples
        --------
        >>> library.names("document", "fir")
        ['first.txt']
        """
        from lpisearch.admin.listing import names_that_begin

        return names_that_begin(self._session, kind, beginning, most)

    def document(self, name: str) -> Document:
        """Return one document by its id or path.

        Examples
        --------
        >>> library.document("first.txt").title
        'A letter'
        """
        from lpisearch.admin.listing import show_document

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
        from lpisearch.admin.labels import label_documents

        chosen = where or Filter()
        return label_documents(
            self.path, documents, chosen, add=each_label(add), remove=each_label(remove)
        )

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the labels that were predicted for a document, most probable first."""
        with self._session.reading() as snapshot:
            key = snapshot.documents.only(name)
            return snapshot.labels.predicted([key]).get(key, ())

    def predict_labels(
        self,
        *documents: str,
        where: Filter | None = None,
        labelled: bool = False,
        options: ClassifyOptions | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> PredictionReport:
        """Judge documents of the library, and keep what is said of them as predicted labels.

        They are kept apart from labels that people gave: shown and filtered as predicted, never
        learned from unless an index is asked to.

        Parameters
        ----------
        *documents
            Ids or paths; all, if none are named.
        where
            In place of names: those that pass it.
        labelled
            Judge documents that have labels too.
        options
            By which classifier of which index, and how sure it must be.
        on_progress
            Called with how many were judged, and of how many.

        Examples
        --------
        >>> report = library.predict_labels(labelled=True)
        >>> report.documents == len(library)
        True
        >>> library.forget_predicted() == report.predicted
        True
        """
        from lpisearch.admin.labels import predict_labels

        chosen = options or ClassifyOptions()
        return predict_labels(
            self._session,
            documents,
            where or Filter(),
            chosen,
            labelled=labelled,
            on_progress=on_progress,
        )

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        from lpisearch.admin.labels import forget_predicted

        return forget_predicted(self.path, documents, where or Filter())

    def delete(self, *names: str) -> int:
        """Remove documents by id or path, all or none; return how many."""
        from lpisearch.admin.listing import delete_documents

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
        from lpisearch.admin.listing import export_documents

        wanted = wanted or Filter()
        return export_documents(self._session, target, wanted, force=force, on_stage=on_stage)

    # Ingest, index and evaluate.

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        labels: str | None = None,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Bring in the documents of files, folders and globs; unchanged files cost nothing.

        Parameters
        ----------
        *paths
            Files, folders, globs; "-" is standard input.
        labels
            Where labels come from: "folder", "none", a field, a file; that of the options if not
            given.
        options
            All the rest.
        on_progress
            Called as files are read.

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
        """Say what building an index will take."""
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
        """Build a subspace index and put it in use; the one before stays in use until then.

        Parameters
        ----------
        method
            Such as "rlpi", "olpi", "lpi" or "lsi"; that of the options if not given.
        options
            All the rest.
        on_stage
            Called with the name of each stage as it begins.
        on_step
            Called with how many documents a stage has done, and of how many, where it knows.
        **given
            Fields of `IndexOptions` by name, such as `dims=100`; they go before the options.

        Examples
        --------
        >>> library.index(method="lsi", dims=1).documents
        2
        """
        from lpisearch.index.build import build_index

        wanted = index_options(options, method, given)
        return build_index(self.path, wanted, on_stage, on_step)

    def evaluate(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[Setting]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
    ) -> Report:
        """Measure the index, and others beside it, on labelled documents and judged queries.

        Parameters
        ----------
        what
            "similarity", "classify", "cluster" or "retrieval"; "all" is what the labels allow.
            "spectrum" gives eigenvalues and bounds, and needs no labels.
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
        with self.evaluating(
            what, options=options, wanted=wanted, over=over, on_cell=on_cell, keep=False
        ) as report:
            return report

    def evaluating(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[Setting]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
        keep: bool = True,
    ) -> AbstractContextManager[Report]:
        """Do the same for a `with` block, and keep finished parts on disk until it ends.

        The same evaluation, stopped or killed, goes on where it was.
        """
        from lpisearch.evaluation.experiments import evaluating

        return evaluating(
            self._session,
            what,
            options=options or EvaluateOptions(),
            wanted=wanted,
            over=over,
            on_cell=on_cell,
            keep=keep,
        )

    # Maintenance.

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and the size on disk.

        Examples
        --------
        >>> library.status()["documents"]
        2
        """
        from lpisearch.admin.listing import library_status

        return library_status(self._session)

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        with self._session.reading() as transaction:
            return transaction.state()

    def is_source(self, path: str) -> bool:
        """Tell whether a file is one that was brought in, by the path that it had."""
        with self._session.reading() as snapshot:
            return path in snapshot.sources.known()

    def writer(self) -> str:
        """Return who is writing to the library now; "" if nobody is."""
        from lpisearch.storage import writer_of

        return writer_of(self.path)

    def examine(
        self, *, repair: bool = False, on_stage: Callable[[str], None] = lambda _name: None
    ) -> list[Finding]:
        """Look for damage; with `repair`, mend what can be mended."""
        from lpisearch.admin.maintenance import examine

        return examine(self.path, repair=repair, on_stage=on_stage)

    def back_up(self, target: Path | None = None) -> Path:
        """Copy the library while it is in use; return the path of the copy."""
        from lpisearch.admin.maintenance import back_up_library

        return back_up_library(self.path, target)

    def upgrade(self) -> dict[str, Any]:
        """Bring an older library to this program's schema; every other method does so by itself."""
        from lpisearch.admin.maintenance import upgrade_library

        return upgrade_library(self.path)

    def schema_differences(self) -> list[str]:
        """Return how the tables differ from what this program expects."""
        from lpisearch.admin.maintenance import check_schema

        return check_schema(self.path)

    def retokenise(self, language: str = "") -> int:
        """Make the tokens of all documents anew, perhaps in another language; return how many."""
        from lpisearch.admin.maintenance import retokenise

        return retokenise(self.path, language)


def open_library(path: str | os.PathLike[str] | Address | None = None) -> Library:
    """Open a library of documents; the first `ingest` makes it.

    Parameters
    ----------
    path
        The database file, or the address of a database (`postgresql://USER@HOST/DATABASE`); that of
        `default_path` if not given.

    Examples
    --------
    >>> import lpisearch
    >>> with lpisearch.open("notes.db") as library:
    ...     library.path.name
    'notes.db'
    """
    return Library(default_path() if path is None else parse_location(path))


DEFAULT_PATH = "lpisearch.db"


def default_path() -> Location:
    """Return the library that is meant where none is named.

    It is `LPISEARCH_DB`; else `lpisearch.db`, if there is one in the current folder; else the
    standing library of the settings; else `lpisearch.db`, which need not be there yet.

    Raises
    ------
    BadPreference
        The file of settings cannot be understood.
    """
    named, here = os.environ.get("LPISEARCH_DB"), Path(DEFAULT_PATH)
    if named or here.exists():
        return parse_location(named or here)
    from lpisearch.config import standing_library

    standing = standing_library()
    return here if standing is None else standing.value


def method_names() -> list[str]:
    """Return the names of the methods that `Library.index` takes."""
    from lpisearch.methods.catalogue import CATALOGUE

    return list(CATALOGUE)


def classifier_names() -> list[str]:
    """Return the names of the classifiers that `Library.classify` takes."""
    from lpisearch.classifiers.classifier import AUTO, CLASSIFIERS

    return [AUTO, *CLASSIFIERS]


def graph_names() -> list[str]:
    """Return the names of the graphs that `Library.index` takes."""
    from lpisearch.graphs.base import GRAPHS

    return list(GRAPHS)


def pairs_of(path: str | os.PathLike[str]) -> tuple[tuple[str, str, str], ...]:
    """Read a file of pairs, which `Library.index` takes: what belongs together, and what does not.

    A line is `must ID ID` or `cannot ID ID`, with tabs between.
    """
    from lpisearch.readers.judgements import read_pairs

    return read_pairs(Path(path))

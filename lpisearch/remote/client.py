"""RemoteLibrary: the methods of Library over HTTP."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias, TypeVar, Unpack

from lpisearch.errors import AnswerInvalid, DocumentNotFound, NotServed, ServerRefused
from lpisearch.files import refuse_others, whole_file
from lpisearch.model.answers import (
    Answer,
    Classification,
    DimensionReport,
    DocumentMap,
    Facets,
    Mark,
    Reason,
    TopicReport,
)
from lpisearch.model.codec import to_json
from lpisearch.model.documents import (
    Document,
    Entry,
    Filter,
    Finding,
    IngestReport,
    LabelReport,
    PredictedLabel,
    PredictionReport,
    Progress,
    Traits,
)
from lpisearch.model.report_text import library_html
from lpisearch.model.reports import IndexPlan, IndexReport, Report
from lpisearch.options import (
    CategoriesOptions,
    ClassifyFields,
    ClassifyOptions,
    ClusterOptions,
    DimensionOptions,
    EvaluateFields,
    EvaluateOptions,
    IndexFields,
    IndexOptions,
    IngestOptions,
    RetrievalOptions,
    SearchFields,
    SearchOptions,
    SimilarityOptions,
    TopicFields,
    as_labels,
    index_options,
    ingest_options,
    search_options,
    warn,
)
from lpisearch.remote.transport import (
    Transport,
    counted_lines,
    error_of,
    filter_params,
    inside,
    search_params,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.answers import Run

    T = TypeVar("T")
    OnProgress: TypeAlias = Callable[[dict[str, Any]], None]


_BATCH, _PAGE = 200, 1000
_EVALUATIONS: dict[type, str] = {
    CategoriesOptions: "categories",
    ClusterOptions: "clusters",
    RetrievalOptions: "retrieval",
    SimilarityOptions: "similarity",
}
_DONE, _FAILED, _CONFLICT = "done", "failed", 409
_DATA, _EXPORTED = "data: ", b'{"id": "'


def _not_served(name: str) -> Callable[..., Any]:
    """Return a method that refuses: it needs the file of the library."""

    def refuse(_self: RemoteLibrary, *_arguments: Any, **_options: Any) -> Any:
        raise NotServed(f"{name}()")

    refuse.__name__ = name
    return refuse


class RemoteLibrary:
    """A library that `lpisearch serve` serves; the methods and errors are those of `Library`.

    Errors may also be `ServerUnreachable` and `ServerRefused`. Any number of threads may use it.
    Methods that maintain the file of the library, such as `back_up`, are not served. Files that
    `similar`, `classify` and `batch` name are on this machine, those of `ingest` on the server.

    Parameters
    ----------
    url
        Of the server.
    token
        What the server requires to be shown, or "".
    seconds
        How long to wait for an answer; jobs may take longer.
    """

    def __init__(self, url: str, token: str = "", seconds: float = 60.0) -> None:
        self._transport = Transport(url, token, seconds)

    def __repr__(self) -> str:
        return f"RemoteLibrary({self.url!r})"

    def _repr_html_(self) -> str:
        return library_html(self.url, self.status())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.url

    def close(self) -> None:
        """Close the connection of this thread; the next call opens another."""
        self._transport.close()

    back_up = _not_served("back_up")
    evaluating = _not_served("evaluating")
    is_source = _not_served("is_source")
    original = _not_served("original")
    related_words = _not_served("related_words")
    retokenise = _not_served("retokenise")
    schema_differences = _not_served("schema_differences")
    upgrade = _not_served("upgrade")
    vector = _not_served("vector")

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
        """Find documents by meaning and by words, best first."""
        params = search_params(search_options(options, fields))
        params |= {"q": text, "like": tuple(like), "unlike": tuple(unlike)}
        return self._get(Answer, "/search", params)

    query = search

    def similar(
        self,
        document: str | Path | Document,
        *,
        files: bool = True,
        options: SearchOptions | None = None,
        **fields: Unpack[SearchFields],
    ) -> Answer:
        """Find documents similar to one in the library, to another document, or to a local file."""
        params, request = search_params(search_options(options, fields)), self._transport.request
        if isinstance(document, Document):
            text = {"title": document.title, "text": document.text}
            return self._transport.made(Answer, request("POST", "/similar", params, text))
        name = os.fspath(document)
        try:
            return self._transport.made(Answer, request("GET", "/similar", params | {"id": name}))
        except DocumentNotFound:
            if not files or not Path(name).is_file():
                raise
        with Path(name).open("rb") as stream:
            params |= {"name": Path(name).name}
            return self._transport.made(
                Answer, request("POST", "/similar/file", params, file=stream)
            )

    def batch(
        self,
        queries: Iterable[tuple[str, str]] | Path,
        *,
        options: SearchOptions | None = None,
        on_note: Callable[[str], None] = warn,
    ) -> Generator[Run, None, None]:
        """Answer many queries, given as (id, text) or by a file of them."""
        from lpisearch.readers.judgements import read_queries

        texts = read_queries(queries) if isinstance(queries, Path) else queries
        return self._batch(texts, to_json(options or SearchOptions()), on_note)

    def _batch(
        self,
        texts: Iterable[tuple[str, str]],
        options: dict[str, Any],
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        queries = [{"id": name, "text": text} for name, text in texts]
        noted: set[str] = set()
        for start in range(0, len(queries), _BATCH):
            body = {"queries": queries[start : start + _BATCH], "options": options}
            answer = self._post("/batch", body)
            for note in self._transport.made(list[str], answer["notes"]):
                if note not in noted:
                    noted.add(note)
                    on_note(note)
            for run in self._transport.objects(answer["runs"]):
                hits = self._transport.objects(run["hits"])
                yield run["query"], [(hit["id"], hit["score"]) for hit in hits]

    def reason(
        self,
        text: str,
        document: str,
        *,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
        options: SearchOptions | None = None,
    ) -> Reason:
        """Explain the score that a search gives a document, as an exact sum."""
        params = search_params(options or SearchOptions()) | {"q": text, "id": document}
        params |= {"like": tuple(like), "unlike": tuple(unlike)}
        return self._get(Reason, "/reason", params)

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where the words of a query, and near words, are in each of some texts."""
        body = {"text": text, "parts": parts, "options": to_json(options or SearchOptions())}
        return self._transport.made(list[tuple[Mark, ...]], self._post("/marks", body)["marks"])

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date."""
        return self._get(Facets, "/facets", filter_params(where))

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the ids of the documents of an index, and their vectors (rows of unit length)."""
        import numpy as np

        ids: list[str] = []
        rows: list[list[float]] = []
        while True:
            params = {"index": index, "limit": _PAGE, "offset": len(ids)}
            page = self._object("GET", "/vectors", params)
            ids += self._transport.made(list[str], page["ids"])
            rows += self._transport.made(list[Any], page["vectors"])
            if len(ids) >= self._transport.made(int, page["total"]) or not page["ids"]:
                break
        try:
            with np.errstate(over="ignore"):
                vectors = np.array(rows, np.float32)
        except (ValueError, TypeError) as error:
            raise AnswerInvalid(self.url, "its vectors differ in length") from error
        if not np.isfinite(vectors).all():
            raise AnswerInvalid(self.url, "its vectors are not finite")
        return ids, vectors

    def export_vectors(
        self, target: str | Path, index: str = "default", *, force: bool = False
    ) -> int:
        """Write id, title, labels and vector of the documents of an index to a local file."""
        from lpisearch.numeric.row_files import export_vectors

        return export_vectors(Path(target), *self.vectors(index), self.entries(), force=force)

    # Labels and topics that an index has learned.

    def classify(self, what: str | Path, **fields: Unpack[ClassifyFields]) -> Classification:
        """Predict labels for a text, or for the first document of a local file (a `Path`)."""
        return self._classify(what, ClassifyOptions(**fields))

    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        params = to_json(options)
        if not isinstance(what, Path):
            return self._transport.made(
                Classification, self._post("/classify", params | {"text": what})
            )
        with what.open("rb") as stream:
            params |= {"name": what.name}
            answer = self._transport.request("POST", "/classify/file", params, file=stream)
        return replace(self._transport.made(Classification, answer), input=str(what))

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Predict labels for the first document of each file that exists, or else for one text."""
        files = [Path(name) for name in arguments if Path(name).is_file()]
        inputs: Sequence[Path | str] = files or [" ".join(arguments)]
        for what in inputs:
            yield self._classify(what, options)

    def topics(
        self,
        number: int | None = None,
        *,
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (a server sends no stages)
        **fields: Unpack[TopicFields],
    ) -> TopicReport:
        """List the main topics: clusters of documents in the subspace."""
        return self._get(TopicReport, "/topics", {"number": number, **fields})

    def map(
        self,
        projection: str = "neighbours",
        *,
        number: int | None = None,
        seed: int = 0,
        index: str = "default",
        previous: DocumentMap | None = None,  # noqa: ARG002 (the server has its own)
    ) -> DocumentMap:
        """Lay all documents out in a plane, with their topics and labels."""
        params = {"projection": projection, "number": number, "seed": seed, "index": index}
        return self._get(DocumentMap, "/map", params)

    def dimensions(
        self, options: DimensionOptions, *, on_stage: Callable[[str], None] = lambda _stage: None
    ) -> DimensionReport:
        """Describe the dimensions of a sparse method by their words and typical documents."""
        body = to_json(options)
        return self._job(DimensionReport, "dimensions", body, lambda seen: on_stage(seen["stage"]))

    # Documents and labels.

    def __len__(self) -> int:
        return self.listing(limit=0)[1]

    def __bool__(self) -> bool:
        return True  # also an empty library

    def __iter__(self) -> Iterator[Document]:
        """Iterate over all documents in the order of ingest."""
        for line in self._transport.lines("/export", filter_params(None)):
            yield self._transport.made(Document, self._transport.parsed(line))

    def entries(
        self, wanted: Filter | None = None, *, path: str = "", sort: str = "added"
    ) -> list[Entry]:
        """List documents without their texts; `path` is a path, an id, a folder or a glob."""
        where = wanted or Filter()
        return self.listing(replace(where, path=path or where.path), sort=sort)[0]

    def listing(
        self, wanted: Filter | None = None, *, limit: int = -1, offset: int = 0, sort: str = "added"
    ) -> tuple[list[Entry], int]:
        """Return a page of the listing, and the number of all documents that match."""
        params = filter_params(wanted) | {"sort": sort}
        entries: list[Entry] = []
        while True:
            size = _PAGE if limit < 0 else min(limit - len(entries), _PAGE)
            params |= {"limit": size, "offset": offset + len(entries)}
            page = self._object("GET", "/documents", params)
            entries += self._transport.made(list[Entry], page["documents"])
            if len(page["documents"]) < size or len(entries) == limit:
                return entries, self._transport.made(int, page["total"])

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Complete the name of a "label", an "index" or a "document"."""
        params = {"kind": kind, "beginning": beginning, "most": most}
        return self._get(list[str], "/names", params)

    def document(self, name: str) -> Document:
        """Return one document by its id or path."""
        return self._get(Document, inside("/documents", name))

    def label(
        self,
        *documents: str,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        where: Filter | None = None,
    ) -> LabelReport:
        """Add and remove labels of documents, named by id or path, or filtered."""
        body = {"documents": documents, "where": to_json(where)}
        body |= {"add": as_labels(add), "remove": as_labels(remove)}
        return self._transport.made(LabelReport, self._post("/labels", body))

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the predicted labels of a document, most probable first."""
        return self._get(tuple[PredictedLabel, ...], inside("/predicted", name))

    def traits(self, name: str) -> Traits:
        """Return what the program found out about a document: its language and its kind."""
        return self._get(Traits, inside("/traits", name))

    def predict_labels(
        self,
        *documents: str,
        where: Filter | None = None,
        labelled: bool = False,
        options: ClassifyOptions | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> PredictionReport:
        """Predict and store labels of documents: of all, of those named, or of those filtered."""
        body = {"documents": documents, "where": to_json(where), "labelled": labelled}
        body |= {"options": to_json(options or ClassifyOptions())}

        def report(seen: dict[str, Any]) -> None:
            on_progress(seen["done"], seen["total"])

        return self._job(PredictionReport, "predict", body, report)

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        body = {"documents": documents, "where": to_json(where)}
        return self._transport.made(int, self._post("/predicted/forget", body)["documents"])

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
        where = replace(where or Filter(), path=path or (where or Filter()).path)
        if not names and where == Filter():
            return 0
        query = {"id": names, **filter_params(where)}
        answer = self._object("DELETE", "/documents", query)
        for note in self._transport.made(list[str], answer["notes"]):
            on_note(note)
        return self._transport.made(int, answer["removed"])

    def export(
        self,
        target: Path | IO[str],
        wanted: Filter | None = None,
        *,
        force: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> int:
        """Write documents as JSON Lines to a local file or a stream; return how many."""
        lines = counted_lines(self._transport.lines("/export", filter_params(wanted)), on_stage)
        if not isinstance(target, Path):
            return sum(1 for line in lines if target.write(f"{line}\n"))
        if not force:
            refuse_others(target, "an export", lambda begins: begins.startswith(_EXPORTED))
        with whole_file(target) as stream:
            return sum(1 for line in lines if stream.write(f"{line}\n".encode()))

    # Ingest, index and evaluate.

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        labels: str | None = None,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Add the documents of files and folders of the server, below a folder that it allows."""
        names = [os.fspath(path) for path in paths]
        body = {"paths": names, "options": to_json(ingest_options(options, labels))}
        return self._ingest(body, on_progress)

    def upload(
        self,
        *files: str | os.PathLike[str],
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Send local files, which the server stores, and add their documents."""
        for file in map(Path, files):
            with file.open("rb") as stream:
                self._transport.request("POST", "/uploads", {"name": file.name}, file=stream)
        return self._ingest({"uploads": True}, on_progress)

    def _ingest(
        self, body: dict[str, Any], on_progress: Callable[[Progress], None]
    ) -> IngestReport:
        def report(seen: dict[str, Any]) -> None:
            on_progress(Progress(seen["documents"], seen["done"], seen["total"]))

        return self._job(IngestReport, "ingest", body, report)

    def plan(self, options: IndexOptions | None = None) -> IndexPlan:
        """Estimate the time and memory that building an index takes."""
        body = {"options": to_json(options or IndexOptions())}
        return self._transport.made(IndexPlan, self._post("/plan", body))

    def index(
        self,
        method: str | None = None,
        *,
        options: IndexOptions | None = None,
        on_stage: Callable[[str], None] = lambda _stage: None,
        on_step: Callable[[int, int], None] = lambda _done, _total: None,
        **given: Unpack[IndexFields],
    ) -> IndexReport:
        """Build an index and put it in use; the old one stays in use until then."""
        stage = ""

        def report(seen: dict[str, Any]) -> None:
            nonlocal stage
            if seen["stage"] != stage:
                stage = seen["stage"]
                on_stage(stage)
            if "done" in seen:
                on_step(seen["done"], seen["total"])

        body = {"options": to_json(index_options(options, method, given))}
        return self._job(IndexReport, "index", body, report)

    def evaluate(self, what: str = "all", **fields: Unpack[EvaluateFields]) -> Report:
        """Measure the index, and others for comparison, on labels or judged queries."""
        options, wanted, over = fields.get("options"), fields.get("wanted"), fields.get("over")
        body: dict[str, Any] = {"what": what, "options": to_json(options or EvaluateOptions())}
        if wanted is not None:
            body[_EVALUATIONS[type(wanted)]] = to_json(wanted)
        if over is not None:
            body["over"] = over
        on_cell = fields.get("on_cell")

        def report(seen: dict[str, Any]) -> None:
            if on_cell is not None:
                on_cell(seen["part"], seen["done"], seen["total"])

        return self._job(Report, "evaluate", body, report)

    # State and health.

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and how the library is served."""
        return self._get(dict[str, Any], "/status")

    def state(self) -> str:
        """Return a token of the library's state: while it is the same, so are all answers."""
        return str(self._object("GET", "/status")["state"])

    def writer(self) -> str:
        """Describe the process that is writing to the library; "" if none is."""
        return str(self._object("GET", "/status")["writer"])

    def examine(
        self,
        *,
        repair: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (a server sends no stages)
    ) -> list[Finding]:
        """Check for damage; repairs are not served."""
        if repair:
            raise NotServed("examine(repair=True)")
        return self._transport.made(list[Finding], self._object("GET", "/doctor")["findings"])

    def jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of the server, the newest first."""
        return self._transport.objects(self._object("GET", "/jobs")["jobs"])

    def _get(self, kind: type[T], path: str, params: dict[str, Any] | None = None) -> T:
        return self._transport.made(kind, self._transport.get(path, params))

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._object("POST", path, body=body)

    def _object(
        self, method: str, path: str, params: dict[str, Any] | None = None, **what: Any
    ) -> dict[str, Any]:
        return self._transport.objects([self._transport.request(method, path, params, **what)])[0]

    def _job(self, record: type[T], kind: str, body: dict[str, Any], on_progress: OnProgress) -> T:
        """Start a job and follow it to its end; return its result, or raise its error."""
        job = self._post(f"/jobs/{kind}", body)["id"]
        seen: dict[str, Any] = {}
        for line in self._transport.lines(f"/jobs/{job}/events"):
            if not line.startswith(_DATA):
                continue
            event = self._transport.parsed(line.removeprefix(_DATA))
            progress = self._transport.objects([event])[0]["progress"]
            if progress and progress != seen:
                (seen,) = self._transport.objects([progress])
                on_progress(seen)
        ended = self._object("GET", f"/jobs/{job}")
        if ended["state"] == _FAILED:
            raise error_of(self._transport.objects([ended["problem"]])[0])
        if ended["state"] != _DONE:
            raise ServerRefused(_CONFLICT, f"The job did not finish ({ended['state']}).")
        return self._transport.made(record, ended["result"])

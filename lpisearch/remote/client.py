"""RemoteLibrary: methods of Library over HTTP."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias, Unpack
from urllib.parse import quote

from lpisearch.errors import DocumentNotFound, NotServed, ServerRefused
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
from lpisearch.model.codec import from_json, to_json
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
    as_conditions,
)
from lpisearch.model.reports import IndexPlan, IndexReport, Report
from lpisearch.options import (
    CategoriesOptions,
    ClassifyOptions,
    ClusterOptions,
    EvaluateOptions,
    IndexOptions,
    IngestOptions,
    RetrievalOptions,
    SearchOptions,
    SimilarityOptions,
    each_label,
    index_options,
    ingest_options,
    search_options,
    warned,
)
from lpisearch.remote.transport import Transport, error_of

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
    from contextlib import AbstractContextManager

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.model.answers import Run
    from lpisearch.options import DimensionOptions, IndexFields, Setting, Wanted

    Told: TypeAlias = Callable[[dict[str, Any]], None]


_AT_ONCE = 200
_PAGE = 1000
_PLAIN = ("path", "split", "since", "until", "media_type")
_EXPORTED = b'{"id": "'
_WISHES: dict[type, str] = {
    CategoriesOptions: "categories",
    ClusterOptions: "clusters",
    RetrievalOptions: "retrieval",
    SimilarityOptions: "similarity",
}
_DONE, _FAILED, _CONFLICT = "done", "failed", 409
_DATA = "data: "


class RemoteLibrary:
    """A library that `lpisearch serve` serves; the methods are those of `Library`.

    Errors are those of the library too, and `ServerUnreachable` and `ServerRefused`. Several
    threads may use it at the same time. What looks after the file of the library, such as
    `back_up`, is done where the library is. Files that are named to `similar`, `classify` and
    `batch` are of this machine, those of `ingest` are the server's.

    Parameters
    ----------
    url
        Of the server.
    token
        What the server wants to be shown, or "".
    seconds
        How long to wait for an answer; jobs may take longer.
    """

    def __init__(self, url: str, token: str = "", seconds: float = 60.0) -> None:
        self._transport = Transport(url, token, seconds)

    def __repr__(self) -> str:
        return f"RemoteLibrary({self.url!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    @property
    def url(self) -> str:
        """The address of the server."""
        return self._transport.url

    def close(self) -> None:
        """Close the connection of this thread; what is asked for afterwards opens another."""
        self._transport.close()

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
        """Find documents by meaning and by words, best first."""
        wanted = search_options(options, k, by, label, index, sort=sort, explain=explain)
        wanted = replace(wanted, facets=facets or wanted.facets)
        params = _params(wanted) | {"q": text, "like": tuple(like), "unlike": tuple(unlike)}
        return from_json(Answer, self._transport.get("/search", params))

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
        """Find documents similar to one in the library, to another document, or to a local file."""
        params = _params(search_options(options, k, by, label, index))
        ask = self._transport.ask
        if isinstance(document, Document):
            text = {"title": document.title, "text": document.text}
            return from_json(Answer, ask("POST", "/similar", params, text))
        name = os.fspath(document)
        try:
            return from_json(Answer, ask("GET", "/similar", params | {"id": name}))
        except DocumentNotFound:
            if not files or not Path(name).is_file():
                raise
        with Path(name).open("rb") as stream:
            params |= {"name": Path(name).name}
            return from_json(Answer, ask("POST", "/similar/file", params, file=stream))

    def batch(
        self,
        queries: Iterable[tuple[str, str]] | Path,
        *,
        options: SearchOptions | None = None,
        on_note: Callable[[str], None] = warned,
    ) -> Generator[Run, None, None]:
        """Answer many queries, given as (id, text) or by a file of them, some at once."""
        from lpisearch.readers.judgements import read_queries

        asked = read_queries(queries) if isinstance(queries, Path) else queries
        return self._batch(asked, options or SearchOptions(), on_note)

    def _batch(
        self,
        queries: Iterable[tuple[str, str]],
        wanted: SearchOptions,
        on_note: Callable[[str], None],
    ) -> Generator[Run, None, None]:
        """Send some at once."""
        how = to_json(wanted)
        waiting = [{"id": name, "text": text} for name, text in queries]
        told: set[str] = set()
        for start in range(0, len(waiting), _AT_ONCE):
            body = {"queries": waiting[start : start + _AT_ONCE], "options": how}
            said = self._transport.ask("POST", "/batch", body=body)
            for note in said["notes"]:
                if note not in told:
                    told.add(note)
                    on_note(note)
            for run in said["runs"]:
                yield run["query"], [(hit["id"], hit["score"]) for hit in run["hits"]]

    def reason(
        self,
        text: str,
        document: str,
        *,
        options: SearchOptions | None = None,
        like: Sequence[str] = (),
        unlike: Sequence[str] = (),
    ) -> Reason:
        """Say why a search finds a document where it does: its score as an exact sum."""
        params = _params(options or SearchOptions()) | {"q": text, "id": document}
        params |= {"like": tuple(like), "unlike": tuple(unlike)}
        return from_json(Reason, self._transport.get("/reason", params))

    def marks(
        self, text: str, *parts: str, options: SearchOptions | None = None
    ) -> list[tuple[Mark, ...]]:
        """Return where words of a query, and near words, are in each of some texts."""
        chosen = options or SearchOptions()
        body = {"text": text, "parts": parts, "options": to_json(chosen)}
        found = self._transport.ask("POST", "/marks", body=body)["marks"]
        return from_json(list[tuple[Mark, ...]], found)

    def facets(self, where: Filter | None = None) -> Facets:
        """Count documents by label, split, folder, format and date."""
        said = self._transport.get("/facets", _filter_params(where or Filter()))
        return from_json(Facets, said)

    def vectors(self, index: str = "default") -> tuple[list[str], NDArray[np.float32]]:
        """Return the documents of an index: their ids, and their vectors as rows at unit length."""
        import numpy as np

        ids: list[str] = []
        rows: list[list[float]] = []
        while True:
            page = {"index": index, "limit": _PAGE, "offset": len(ids)}
            said = self._transport.get("/vectors", page)
            ids += said["ids"]
            rows += said["vectors"]
            if len(ids) >= said["total"] or not said["ids"]:
                return ids, np.array(rows, np.float32)

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
        """Judge a text, or the first document of a file of this machine."""
        return self._classify(what, ClassifyOptions(classifier, k, index, confidence))

    def _classify(self, what: str | Path, options: ClassifyOptions) -> Classification:
        how = to_json(options)
        if not isinstance(what, Path):
            body = how | {"text": what}
            return from_json(Classification, self._transport.ask("POST", "/classify", body=body))
        with what.open("rb") as stream:
            params = how | {"name": what.name}
            said = self._transport.ask("POST", "/classify/file", params, file=stream)
        return replace(from_json(Classification, said), input=str(what))

    def classify_each(
        self, arguments: Sequence[str], options: ClassifyOptions
    ) -> Iterator[Classification]:
        """Judge files that exist, or else one text.

        Yields
        ------
        Classification
            One for the text, or one for each file.
        """
        files = [Path(name) for name in arguments if Path(name).is_file()]
        if not files:
            yield self._classify(" ".join(arguments), options)
        for file in files:
            yield self._classify(file, options)

    def topics(
        self,
        number: int | None = None,
        *,
        terms: int = 8,
        documents: int = 3,
        seed: int = 0,
        index: str = "default",
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (as above)
    ) -> TopicReport:
        """Find what the library is about: clusters of documents in the subspace.

        `on_stage` is not called: a server tells nothing before it answers.
        """
        shown = {"terms": terms, "documents": documents}
        params = {"number": number, "seed": seed, "index": index} | shown
        return from_json(TopicReport, self._transport.get("/topics", params))

    def map(
        self,
        projection: str = "neighbours",
        *,
        number: int | None = None,
        seed: int = 0,
        index: str = "default",
        previous: DocumentMap | None = None,  # noqa: ARG002 (as `Library` has it)
    ) -> DocumentMap:
        """Place all documents in a plane, with their topics and labels.

        `previous` changes nothing: the server has its own, and gives the same again as long as
        nothing has changed.
        """
        params = {"projection": projection, "number": number, "seed": seed, "index": index}
        return from_json(DocumentMap, self._transport.get("/map", params))

    def dimensions(
        self,
        options: DimensionOptions,
        *,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> DimensionReport:
        """Give the dimensions of a sparse map by their words and typical documents."""
        said = self._done("dimensions", to_json(options), lambda seen: on_stage(seen["stage"]))
        return from_json(DimensionReport, said)

    # Documents and labels.

    def __len__(self) -> int:
        return self.listing(limit=0)[1]

    def __bool__(self) -> bool:
        return True  # an empty library is a library

    def __iter__(self) -> Iterator[Document]:
        """Go through all documents in the order of ingest."""
        return self._documents(Filter())

    def _documents(self, wanted: Filter) -> Iterator[Document]:
        for line in self._transport.lines("/export", _filter_params(wanted)):
            yield from_json(Document, json.loads(line))

    def entries(
        self, wanted: Filter | None = None, *, path: str = "", sort: str = "added"
    ) -> list[Entry]:
        """List documents without their texts."""
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
        params = _filter_params(wanted or Filter()) | {"sort": sort}
        found: list[Entry] = []
        while True:
            left = _PAGE if limit < 0 else min(limit - len(found), _PAGE)
            page = {"limit": left, "offset": offset + len(found)}
            said = self._transport.get("/documents", params | page)
            found += from_json(list[Entry], said["documents"])
            if len(said["documents"]) < left or len(found) == limit:
                return found, said["total"]

    def names(self, kind: str, beginning: str = "", most: int = 100) -> list[str]:
        """Return names that begin so: of "label", "index" or "document"."""
        params = {"kind": kind, "beginning": beginning, "most": most}
        return self._transport.get("/names", params)  # type: ignore[no-any-return]

    def document(self, name: str) -> Document:
        """Return one document by its id or path."""
        return from_json(Document, self._transport.get(_inside("/documents", name)))

    def label(
        self,
        *documents: str,
        add: str | Sequence[str] = (),
        remove: str | Sequence[str] = (),
        where: Filter | None = None,
    ) -> LabelReport:
        """Give documents labels and take others away, whatever their sources say."""
        body: dict[str, Any] = {"documents": documents, "where": to_json(where)}
        body |= {"add": each_label(add), "remove": each_label(remove)}
        return from_json(LabelReport, self._transport.ask("POST", "/labels", body=body))

    def predicted(self, name: str) -> tuple[PredictedLabel, ...]:
        """Return the labels that were predicted for a document, most probable first."""
        found = self._transport.get(_inside("/predicted", name))
        return from_json(tuple[PredictedLabel, ...], found)

    def predict_labels(
        self,
        *documents: str,
        where: Filter | None = None,
        labelled: bool = False,
        options: ClassifyOptions | None = None,
        on_progress: Callable[[int, int], None] = lambda _done, _total: None,
    ) -> PredictionReport:
        """Judge documents of the library, and keep what is said of them as predicted labels."""
        body = {
            "documents": documents,
            "where": to_json(where),
            "labelled": labelled,
            "options": to_json(options or ClassifyOptions()),
        }
        said = self._done("predict", body, lambda seen: on_progress(seen["done"], seen["total"]))
        return from_json(PredictionReport, said)

    def forget_predicted(self, *documents: str, where: Filter | None = None) -> int:
        """Remove predicted labels, of all documents if none are named; return of how many."""
        body = {"documents": documents, "where": to_json(where)}
        said = self._transport.ask("POST", "/predicted/forget", body=body)
        return int(said["documents"])

    def delete(self, *names: str) -> int:
        """Remove documents by id or path, all or none; return how many."""
        if not names:
            return 0
        return int(self._transport.ask("DELETE", "/documents", {"id": names})["removed"])

    def export(
        self,
        target: Path | IO[str],
        wanted: Filter | None = None,
        *,
        force: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> int:
        """Write documents as JSON Lines, to a file of this machine or to a stream of text."""
        found = self._transport.lines("/export", _filter_params(wanted or Filter()))
        lines = _counted(found, on_stage)
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
        """Bring in documents of files and folders of the server, below a folder that it allows."""
        wanted = ingest_options(options, labels)
        body = {"paths": [os.fspath(path) for path in paths], "options": to_json(wanted)}
        return self._ingested(body, on_progress)

    def upload(
        self,
        *files: str | os.PathLike[str],
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Send files of this machine, and bring in their documents; the server keeps the files."""
        for file in map(Path, files):
            with file.open("rb") as stream:
                self._transport.ask("POST", "/uploads", {"name": file.name}, file=stream)
        return self._ingested({"uploads": True}, on_progress)

    def _ingested(
        self, body: dict[str, Any], on_progress: Callable[[Progress], None]
    ) -> IngestReport:
        def told(seen: dict[str, Any]) -> None:
            on_progress(Progress(seen["documents"], seen["done"], seen["total"]))

        return from_json(IngestReport, self._done("ingest", body, told))

    def plan(self, options: IndexOptions | None = None) -> IndexPlan:
        """Say what building an index will take."""
        body = {"options": to_json(options or IndexOptions())}
        return from_json(IndexPlan, self._transport.ask("POST", "/plan", body=body))

    def index(
        self,
        method: str | None = None,
        *,
        options: IndexOptions | None = None,
        on_stage: Callable[[str], None] = lambda _stage: None,
        on_step: Callable[[int, int], None] = lambda _done, _total: None,
        **given: Unpack[IndexFields],
    ) -> IndexReport:
        """Build a subspace index and put it in use; the one before stays in use until then."""
        body = {"options": to_json(index_options(options, method, given))}
        begun = ""

        def told(seen: dict[str, Any]) -> None:
            nonlocal begun
            if seen["stage"] != begun:
                begun = seen["stage"]
                on_stage(begun)
            if "done" in seen:
                on_step(seen["done"], seen["total"])

        return from_json(IndexReport, self._done("index", body, told))

    def evaluate(
        self,
        what: str = "all",
        *,
        options: EvaluateOptions | None = None,
        wanted: Wanted | None = None,
        over: tuple[str, Sequence[Setting]] | None = None,
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,
    ) -> Report:
        """Measure the index, and others beside it, on labelled documents and judged queries."""
        body: dict[str, Any] = {"what": what, "options": to_json(options or EvaluateOptions())}
        if wanted is not None:
            body[_WISHES[type(wanted)]] = to_json(wanted)
        if over is not None:
            body["over"] = [over[0], list(over[1])]

        def told(seen: dict[str, Any]) -> None:
            on_cell(seen["part"], seen["done"], seen["total"])

        return from_json(Report, self._done("evaluate", body, told))

    # Jobs, by which a server does what takes longer.

    def jobs(self) -> list[dict[str, Any]]:
        """Return the jobs of the server, the newest first."""
        return self._transport.get("/jobs")["jobs"]  # type: ignore[no-any-return]

    def _done(self, kind: str, body: dict[str, Any], on_progress: Told) -> dict[str, Any]:
        """Start a job and follow it to its end; return what it gave.

        Raises
        ------
        LpiSearchError
            What the library refused, or the server, or who stopped the job.
        """
        job = self._transport.ask("POST", f"/jobs/{kind}", body=body)
        seen: dict[str, Any] = {}
        for told in self._told(job["id"]):
            if told["progress"] and told["progress"] != seen:
                seen = told["progress"]
                on_progress(seen)
        ended = self._transport.get(f"/jobs/{job['id']}")
        if ended["state"] == _FAILED:
            raise error_of(ended["problem"])
        if ended["state"] != _DONE:
            raise ServerRefused(_CONFLICT, f"The job did not finish ({ended['state']}).")
        return ended["result"]  # type: ignore[no-any-return]

    def _told(self, job: str) -> Iterator[dict[str, Any]]:
        for line in self._transport.lines(f"/jobs/{job}/events"):
            if line.startswith(_DATA):
                yield json.loads(line.removeprefix(_DATA))

    # State and health.

    def status(self) -> dict[str, Any]:
        """Return counts of documents, labels, splits and sources, and how it is served."""
        return self._transport.get("/status")  # type: ignore[no-any-return]

    def state(self) -> str:
        """Return a mark of the library as it is: while it is the same, so are all answers."""
        return str(self.status()["state"])

    def writer(self) -> str:
        """Return who is writing to the library now; "" if nobody is."""
        return str(self.status()["writer"])

    def examine(
        self,
        *,
        repair: bool = False,
        on_stage: Callable[[str], None] = lambda _name: None,  # noqa: ARG002 (as `Library` has it)
    ) -> list[Finding]:
        """Look for damage; who mends it does so where the library is.

        `on_stage` is not called: a server tells nothing before it answers.
        """
        if repair:
            raise NotServed("examine(repair=True)")
        return from_json(list[Finding], self._transport.get("/doctor")["findings"])

    # Methods of `Library` that are not served: each refuses, whatever it is given.

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:  # noqa: ARG002 (as above)
        """Refuse: questions are placed where the index is."""
        raise NotServed("vector()")

    def is_source(self, path: str) -> bool:  # noqa: ARG002 (as above)
        """Refuse: which files there are is not told."""
        raise NotServed("is_source()")

    def evaluating(
        self,
        what: str = "all",  # noqa: ARG002 (as above)
        *,
        options: EvaluateOptions | None = None,  # noqa: ARG002 (as above)
        wanted: Wanted | None = None,  # noqa: ARG002 (as above)
        over: tuple[str, Sequence[Setting]] | None = None,  # noqa: ARG002 (as above)
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,  # noqa: ARG002 (as above)
        keep: bool = True,  # noqa: ARG002 (as above)
    ) -> AbstractContextManager[Report]:
        """Refuse: what is finished is kept on the disk of who evaluates; `evaluate` is served."""
        raise NotServed("evaluating()")

    def back_up(self, target: Path | None = None) -> Path:  # noqa: ARG002 (as `Library` has it)
        """Refuse: a copy is made where the library is."""
        raise NotServed("back_up()")

    def upgrade(self) -> dict[str, Any]:
        """Refuse: the server has done so."""
        raise NotServed("upgrade()")

    def schema_differences(self) -> list[str]:
        """Refuse: the schema is looked at where the library is."""
        raise NotServed("schema_differences()")

    def retokenise(self, language: str = "") -> int:  # noqa: ARG002 (as above)
        """Refuse: all tokens are made anew where the library is."""
        raise NotServed("retokenise()")


def _filter_params(where: Filter) -> dict[str, Any]:
    """Return a filter as parameters."""
    params: dict[str, Any] = {
        "label": where.labels,
        "predicted": where.predicted,
        "where": tuple(as_conditions(Filter(metadata=where.metadata))),
    }
    return params | {name: getattr(where, name) for name in _PLAIN}


def _params(options: SearchOptions) -> dict[str, Any]:
    plain = {name: getattr(options, name) for name in SearchOptions.__slots__ if name != "where"}
    return plain | _filter_params(options.where)


def _inside(path: str, name: str) -> str:
    return f"{path}/{quote(name, safe='', errors='replace')}"


def _counted(lines: Iterator[str], on_stage: Callable[[str], None]) -> Iterator[str]:
    """Yield lines, and say now and then how many there were."""
    for number, line in enumerate(lines, start=1):
        yield line
        if number % _PAGE == 0:
            on_stage(f"{number:,} documents written")

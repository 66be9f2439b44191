"""Remote jobs: ingest, index and predict, followed until they finish."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from lpisearch.calls.given import index_options, ingest_options
from lpisearch.client.holding import as_json
from lpisearch.client.reading import as_record
from lpisearch.client.transport import error_of
from lpisearch.errors import ServerRefused
from lpisearch.records import (
    DimensionReport,
    Filter,
    IndexPlan,
    IndexReport,
    IngestReport,
    PredictionReport,
    Progress,
    Report,
)
from lpisearch.settings import (
    CategoriesOptions,
    ClassifyOptions,
    ClusterOptions,
    EvaluateOptions,
    IndexOptions,
    IngestOptions,
    RetrievalOptions,
    SimilarityOptions,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.client.transport import Transport
    from lpisearch.settings import DimensionOptions, IndexFields
    from lpisearch.settings.evaluation import Wanted
    from lpisearch.settings.indexes import Setting

    Told = Callable[[dict[str, Any]], None]

_WISHES: dict[type, str] = {
    CategoriesOptions: "categories",
    ClusterOptions: "clusters",
    RetrievalOptions: "retrieval",
    SimilarityOptions: "similarity",
}
_DONE, _FAILED, _CONFLICT = "done", "failed", 409
_DATA = "data: "


class Working:
    """What takes longer; the methods are those of `Library`."""

    _transport: Transport

    def ingest(
        self,
        *paths: str | os.PathLike[str],
        labels: str | None = None,
        options: IngestOptions | None = None,
        on_progress: Callable[[Progress], None] = lambda _progress: None,
    ) -> IngestReport:
        """Bring in documents of files and folders of the server, below a folder that it allows."""
        wanted = ingest_options(options, labels)
        body = {"paths": [os.fspath(path) for path in paths], "options": as_json(wanted)}
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

        return as_record(IngestReport, self._done("ingest", body, told))  # type: ignore[no-any-return]

    def plan(self, options: IndexOptions | None = None) -> IndexPlan:
        """Say what building an index will take."""
        body = {"options": as_json(options or IndexOptions())}
        return as_record(IndexPlan, self._transport.ask("POST", "/plan", body=body))  # type: ignore[no-any-return]

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
        body = {"options": as_json(index_options(options, method, given))}
        begun = ""

        def told(seen: dict[str, Any]) -> None:
            nonlocal begun
            if seen["stage"] != begun:
                begun = seen["stage"]
                on_stage(begun)
            if "done" in seen:
                on_step(seen["done"], seen["total"])

        return as_record(IndexReport, self._done("index", body, told))  # type: ignore[no-any-return]

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
            "where": None if where is None else where.as_dict(),
            "labelled": labelled,
            "options": as_json(options or ClassifyOptions()),
        }
        said = self._done("predict", body, lambda seen: on_progress(seen["done"], seen["total"]))
        return as_record(PredictionReport, said)  # type: ignore[no-any-return]

    def dimensions(
        self,
        options: DimensionOptions,
        *,
        on_stage: Callable[[str], None] = lambda _stage: None,
    ) -> DimensionReport:
        """Give the dimensions of a sparse map by their words and typical documents."""
        said = self._done("dimensions", as_json(options), lambda seen: on_stage(seen["stage"]))
        return as_record(DimensionReport, said)  # type: ignore[no-any-return]

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
        body: dict[str, Any] = {"what": what, "options": as_json(options or EvaluateOptions())}
        if wanted is not None:
            body[_WISHES[type(wanted)]] = as_json(wanted)
        if over is not None:
            body["over"] = [over[0], list(over[1])]

        def told(seen: dict[str, Any]) -> None:
            on_cell(seen["part"], seen["done"], seen["total"])

        return as_record(Report, self._done("evaluate", body, told))  # type: ignore[no-any-return]

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

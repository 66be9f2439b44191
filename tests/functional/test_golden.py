"""Answers of every face to a small library, compared with those that are kept in `tests/golden`.

Each face has a file there: the command line, the HTTP API, a library that is served elsewhere, the
JSON of records, and that of options. Write them anew, and look at the difference before it is kept:

    LPISEARCH_WRITE_GOLDEN=1 python -m pytest tests/functional/test_golden.py

All is compared to the byte but for what is not the same in two runs (`_VARYING`: times, dates,
memory, sizes of files, ids, versions), the folder of the test, and digits of computed numbers
beyond the sixth, which depend on the machine. Records and options are compared as they are.
"""

import json
import math
import os
import re
import shlex
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from starlette.testclient import TestClient
from threadpoolctl import threadpool_limits
from typer.testing import CliRunner

import lpisearch
from lpisearch import options
from lpisearch.cli.app import app
from lpisearch.model import answers as model_answers
from lpisearch.model import codec
from lpisearch.model import documents as model_documents
from lpisearch.model import reports as model_reports
from lpisearch.model.documents import Filter
from lpisearch.options import DimensionOptions, EvaluateOptions, ServeSettings
from lpisearch.remote.client import RemoteLibrary
from lpisearch.web.server import create_app
from tests.serving import served

_ROOT = Path(__file__).parents[1]
_GOLDEN = _ROOT / "golden"
_SAMPLE = _ROOT.parent / "sample_corpus" / "documents"
_WRITE = "LPISEARCH_WRITE_GOLDEN"
_TOPICS = ("baking", "railways", "sailing")
_OTHERS = (
    "music/practise-slowly.pdf",
    "gardening/no-dig-bed.docx",
    "baking/stale-bread-question.eml",
)
_VARYING = frozenset({
    *("created", "seconds", "processor_seconds", "peak_mb", "memory_mb", "size_bytes", "lpisearch"),
    *("version", "versions", "asked_at", "begun", "ended", "fit_s", "predict_s"),
    *("cluster_s", "progress", "stages"),
})  # fmt: skip
_DIGITS = 6


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Compute in one thread: sums of several differ in their last digits."""
    with threadpool_limits(1):
        yield


@pytest.fixture(scope="session")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of a small library with an index, made of a part of the sample corpus."""
    folder = tmp_path_factory.mktemp("golden").resolve()
    some = [file for topic in _TOPICS for kind in ("txt", "md") for file in _first(topic, kind)]
    for file in (*some, *(_SAMPLE / name for name in _OTHERS)):
        target = folder / "documents" / file.relative_to(_SAMPLE)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
        os.utime(target, (1.7e9, 1.7e9))  # it is the date of a document without another
    made = {
        "note.txt": "Bread dough in a cold oven",
        "broken.jsonl": "{\n",
        "queries.tsv": "1\tcold dough\n2\ttrain signal\n",
        "qrels.tsv": "1 0 baking/cold-kitchen.txt 1\n2 0 railways/arm-and-spectacle.txt 1\n",
    }
    for name, content in made.items():
        (folder / name).write_text(content, encoding="utf-8")
    with threadpool_limits(1), lpisearch.open(folder / "library.db") as library:
        library.ingest(folder / "documents")
        # As an earlier version wrote it, which took a folder for a label where none was stated.
        with closing(sqlite3.connect(folder / "library.db")) as connection, connection:
            connection.execute("UPDATE sources SET size = -1, read_options = 'a3ab959dbb94525c'")
        library.ingest(folder / "documents")
        library.index(dims=3)
    return folder


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> Path:
    """Return the folder of a copy of it, which a test may change."""
    return shutil.copytree(sample, tmp_path.resolve() / "copy")


def _first(topic: str, kind: str) -> list[Path]:
    return sorted((_SAMPLE / topic).glob(f"*.{kind}"))[:3]


def _normalised(value: Any, *folders: Path) -> Any:
    """Return a value without what is not the same in two runs."""
    if isinstance(value, dict):
        return {
            name: "…" if each and _is_varying(name, each) else _normalised(each, *folders)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [_normalised(each, *folders) for each in value]
    if isinstance(value, float):
        return float(f"{value:.{_DIGITS}g}")
    if isinstance(value, str):
        for folder in folders:
            value = value.replace(str(folder), "…")
        return re.sub(r"(\.index/[\w.-]+)-[0-9a-f]{12}\b", r"\1-…", value)
    return value


def _is_varying(name: str, value: Any) -> bool:
    is_mark = name == "state" and str(value).isdecimal()  # of a library: it is another for each
    return name in {*_VARYING, "file_date"} or is_mark


def _compare(face: str, answers: Mapping[str, Any]) -> None:
    """Compare answers with those that are kept, or keep them."""
    file = _GOLDEN / f"{face}.json"
    if os.environ.get(_WRITE):
        file.write_text(_text(answers), encoding="utf-8")
    kept = json.loads(file.read_text(encoding="utf-8"))
    unlike = [name for name in kept if _text(kept[name]) != _text(answers.get(name))]
    for name in unlike:  # one after the other, so that what differs is shown
        assert _text(answers.get(name)).splitlines() == _text(kept[name]).splitlines(), name
    assert _text(answers) == file.read_text(encoding="utf-8")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"


# The command line.


def test_command_line(
    sample: Path, copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every verb that has `--json` prints what it printed before, and ends as it did."""
    for name in ("CACHE", "CONFIG", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(tmp_path / name))
    run, library = CliRunner().invoke, ["--db", str(copy / "library.db")]
    assert run(app, ["config", "set", "opener", "true"]).exit_code == 0
    answers: dict[str, Any] = {}
    lines = (_GOLDEN / "cli.txt").read_text(encoding="utf-8").splitlines()
    for line in lines:
        words = shlex.split(line, comments=True)
        if not words:
            continue
        done = run(
            app, [*library, *(word.format(folder=copy, sample=sample) for word in words), "--json"]
        )
        said = json.loads(done.stdout) if done.stdout else None
        known = _normalised(said, copy, sample, tmp_path.resolve())
        answers[f"{len(answers) + 1} {line}"] = {"status": done.exit_code, "answer": known}
    _compare("cli", answers)


# The HTTP API: the name of an operation, and perhaps which question it is; what is sent.

_Q = {"q": "bread", "k": 1}
_KITCHEN = "baking/cold-kitchen.txt"
_REQUESTS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("search", {"params": _Q | {"explain": True, "facets": True}}),
    ("search: words", {"params": _Q | {"by": "lexical", "label": "railways", "like": _KITCHEN}}),
    ("search: refused", {"params": {"q": "bread", "k": "many"}}),
    ("search: no such index", {"params": {"q": "bread", "index": "other"}}),
    ("reason", {"params": {"q": "bread", "id": _KITCHEN}}),
    ("marks", {"json": {"text": "bread", "parts": ["Bread and a loaf", ""]}}),
    ("map", {"params": {"number": 2}}),
    ("similar", {"params": {"id": _KITCHEN, "k": 1}}),
    ("similarToText", {"params": {"k": 1}, "json": {"text": "a train at night"}}),
    ("similarToFile", {"params": {"name": "a.txt", "k": 1}, "content": b"a sail in the wind"}),
    ("searchEach", {"json": {"queries": [{"id": "1", "text": "dough"}], "options": {"k": 1}}}),
    ("batch", {"json": {"queries": [{"id": "1", "text": "cold dough"}], "options": {"k": 2}}}),
    (
        "searchVectorStore",
        {"id": "default", "json": {"query": "cold dough", "max_num_results": 1}},
    ),
    ("facets", {"params": {"path": "baking"}}),
    ("topics", {"params": {"number": 2, "terms": 2, "documents": 1}}),
    ("classify", {"json": {"text": "a train at night", "k": 2}}),
    ("classifyFile", {"params": {"name": "a.txt", "k": 1}, "content": b"a sail in the wind"}),
    ("documents", {"params": {"limit": 1, "sort": "title", "label": "sailing"}}),
    ("document", {"id": "music/practise-slowly.pdf"}),
    ("document: not there", {"id": "nothing"}),
    ("export", {"params": {"path": "gardening"}}),
    ("original", {"id": _KITCHEN}),
    ("labels", {}),
    ("vectors", {"params": {"limit": 1}}),
    ("status", {}),
    ("doctor", {}),
    ("plan", {"json": {"options": {"method": "olpi"}}}),
    ("label", {"json": {"documents": [_KITCHEN], "add": ["kept"]}}),
    ("label: refused", {"json": {"documents": ["a"], "sea": 1}}),
    ("upload", {"params": {"name": "a.txt"}, "content": b"a train at night"}),
    ("ingest", {"json": {"uploads": True}}),
    ("index", {"json": {"options": {"method": "lsi", "dims": 2, "name": "lsi"}}}),
    ("index: refused", {"json": {"options": {"method": "nonsense"}}}),
    ("predict", {"json": {"options": {"confidence": 0.0}}}),
    ("predicted", {"id": "a.txt"}),
    ("forgetPredicted", {"json": {"documents": ["a.txt"]}}),
    ("evaluate", {"json": {"what": "similarity", "options": {"methods": ["lsi"], "dims": 2}}}),
    ("dimensions", {"json": {"method": "spg", "dims": 1, "terms": 2, "documents": 1}}),
    ("jobs", {}),
    ("job: not there", {"id": "none"}),
    ("stopJob: not there", {"id": "none"}),
    ("deleteDocument", {"id": "a.txt"}),
    ("deleteDocuments", {"params": {"id": [_KITCHEN]}}),
)
_BY_ANOTHER_WAY = {"job", "stopJob", "jobEvents"}  # the id of a job is unlike any other's


def test_http_api(sample: Path, copy: Path) -> None:
    """Every operation of the description answers what it answered before."""
    answers: dict[str, Any] = {}
    asked = {name.split(":")[0] for name, _ in _REQUESTS} | _BY_ANOTHER_WAY
    with lpisearch.open(copy / "library.db") as library:
        server = create_app(library, ServeSettings(roots=(sample, copy)))
        with TestClient(server, "http://127.0.0.1:8077", client=("127.0.0.1", 1)) as client:
            ways = _operations(client)
            assert set(ways) == asked
            for name, sent in _REQUESTS:
                answer = _answered(client, *ways[name.split(":")[0]], **sent)
                answers[name] = _normalised(answer, copy, sample)
    _compare("http", answers)


def _operations(client: TestClient) -> dict[str, tuple[str, str]]:
    """Return method and path of each operation by its name, but for those of shards."""
    paths = client.get("/api/v1/openapi.json").json()["paths"]
    return {
        one["operationId"]: (method, path)
        for path, methods in paths.items()
        for method, one in methods.items()
        if not path.startswith("/api/v1/shard")
    }


def _answered(client: TestClient, method: str, path: str, **sent: Any) -> dict[str, Any]:
    """Ask, and wait for the end of a job."""
    where = path.replace("{id}", sent.pop("id", ""))
    answer = client.request(method, where, **sent)
    if answer.status_code == 202:
        job = answer.headers["location"]
        with client.stream("GET", f"{job}/events") as events:
            assert "event: end" in events.read().decode()
        answer = client.get(job)
    is_json = answer.headers["content-type"].endswith("json")
    said = answer.json() if is_json else answer.text
    known = _without_ids(said) if "/jobs" in where else said
    return {"status": answer.status_code, "answer": known}


def _without_ids(said: Any) -> Any:
    """Return jobs without their ids, and without maps, which are drawn at some later time."""
    if "jobs" in said:
        return {"jobs": [_without_ids(each) for each in said["jobs"] if each["kind"] != "map"]}
    return said | ({"id": "…"} if "id" in said else {})


# A library that is served elsewhere.


def test_remote_library(sample: Path, copy: Path) -> None:
    """What a server answers is read as the same results as before."""
    with lpisearch.open(copy / "library.db") as library:
        roots = ServeSettings(roots=(copy,))
        with served(library, roots) as url, lpisearch.connect(url) as remote:
            answers = {
                name: _normalised(_plain(found), copy, sample)
                for name, found in _results(remote, copy)
            }
    _compare("remote", answers)


def _results(remote: RemoteLibrary, folder: Path) -> Iterator[tuple[str, Any]]:
    yield "search", remote.search("bread", k=1, explain=True, facets=True)
    yield "similar", remote.similar(_KITCHEN, k=1)
    yield "similar to a file", remote.similar(folder / "note.txt", k=1)
    yield "batch", list(remote.batch([("1", "cold dough")], options=options.SearchOptions(k=2)))
    yield "reason", remote.reason("bread", _KITCHEN)
    yield "marks", remote.marks("bread", "Bread and a loaf")
    yield "facets", remote.facets(Filter(path="baking"))
    yield "topics", remote.topics(2, terms=2, documents=1)
    yield "classify", remote.classify("a train at night", k=2)
    yield "listing", remote.listing(Filter(labels=("sailing",)), limit=1)
    yield "document", remote.document("music/practise-slowly.pdf")
    yield "names", remote.names("label", "r")
    yield "status", remote.status()
    yield "examine", remote.examine()
    yield "plan", remote.plan()
    yield "label", remote.label(_KITCHEN, add="kept")
    yield "ingest", remote.ingest(folder / "note.txt", labels="none")
    yield "index", remote.index("lsi", dims=2, name="lsi")
    yield "predict", remote.predict_labels(options=options.ClassifyOptions(confidence=0))
    yield "predicted", remote.predicted("note.txt")
    yield "traits", remote.traits("note.txt")
    yield "forget", remote.forget_predicted("note.txt")
    yield "dimensions", remote.dimensions(DimensionOptions("spg", dims=1, terms=2, documents=1))
    yield (
        "evaluate",
        remote.evaluate("similarity", options=EvaluateOptions(methods=("lsi",), dims=2)),
    )
    yield "delete", remote.delete("note.txt")


def _plain(value: Any) -> Any:
    """Return records as JSON in the plainest way: not that of the codec, which is tested by it."""
    return json.loads(json.dumps(value, default=_bare))


def _bare(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else str(value)


# The codec.

_THIRD = 1 / 3
_SECTION = model_documents.Section(8, "page", "1")
_WHY = model_answers.Explanation(
    cosine=_THIRD,
    total=0.5,
    pairs=(model_answers.Pair("car", "engine", _THIRD),),
    by_query_term=(("car", 1e-7),),
    topics=(model_answers.SharedTopic(3, 0.2, ("car", "wheel")),),
)
_PREDICTED = model_documents.PredictedLabel("x", _THIRD, "svm")
_SNIPPET = model_answers.Passage("a car “là”", ((2, 5),), 3, 13, _SECTION, "1")
_HIT = model_answers.Hit(
    rank=1,
    id="a",
    title="A",
    labels=("x", "y"),
    path="a.txt",
    date="2024",
    score=_THIRD,
    cosine=_THIRD,
    bm25_rank=2,
    passages=(_SNIPPET, model_answers.Passage("engine")),
    explanation=_WHY,
    predicted=(_PREDICTED,),
)
_FACETS = model_answers.Facets(
    2, labels=(model_answers.FacetValue("x", "X", 2),), period="year", undated=1
)
_TOPIC = model_answers.Topic(
    number=1,
    size=2,
    terms=("car",),
    documents=(model_answers.TopicDocument("a", "A", _THIRD),),
    labels=(model_answers.LabelShare("x", _THIRD),),
)
_TOPICS_FOUND = model_answers.TopicReport((_TOPIC,), 3, 1, chosen=True, purity=_THIRD)
_WORD, _NEAR = (
    model_answers.DimensionWord("car", _THIRD),
    model_answers.DimensionDocument("a", "A", _THIRD),
)
_BUILT = model_reports.IndexReport(
    name="default",
    method="rlpi",
    seconds={"learn": 0.1},
    peak_mb=1.0,
    size_bytes=10,
    folder="f",
    dims=3,
    alpha=math.inf,
    notes=["a note"],
    classifier={"labels": np.int64(2), "accuracy": np.float32(0.5)},
)
_TABLE = model_reports.Table(
    "retrieval", "Runs", ({"run": "a", "AP": _THIRD, "p": None},), ("a note",)
)
_REPORT = model_reports.Report(
    title="Retrieval",
    command="",
    parameters={"dims": 5, "share": math.nan},
    versions={"numpy": "2"},
    tables=(_TABLE, replace(_TABLE, name="differences")),
    figures=(
        model_reports.Figure("f", "F", "x", "y", (model_reports.Series("s", (1.0,), (_THIRD,)),)),
    ),
)
_ENTRY = model_documents.Entry("a", "A", ("x",), "train", "", "a.txt", "text/plain", (_PREDICTED,))
_MAP = model_answers.DocumentMap(
    ids=("a",),
    titles=("A",),
    places=np.array([[0.5, -1]], np.float32),
    topics=np.zeros(1, np.int32),
    labels=np.full(1, model_answers.NO_LABEL, np.int32),
    label_names=("x",),
    report=_TOPICS_FOUND,
    projection="plane",
    rule="rule",
    unplaced=0,
)
_FORMS: dict[str, Any] = {
    "hit": _HIT,
    "bare hit": replace(_HIT, passages=(), explanation=None, predicted=()),
    "explanation": _WHY,
    "reason": model_answers.Reason(
        "a", "hybrid", 0.5, (model_answers.Leg("words", None, 1.0, 0.5, _THIRD),), _WHY
    ),
    "map": _MAP,
    "answer": codec.to_json(
        model_answers.Answer(
            (), "hybrid", ("note",), (model_answers.Suggestion("cra", ("car",)),), _FACETS
        )
    ),
    "bare answer": model_answers.Answer((), "lexical"),
    "facets": _FACETS,
    "run": codec.RankedRun.of(("q1", [("a", _THIRD)])),
    "classification": model_answers.Classification(
        "t", (model_answers.LabelShare("x", _THIRD),), decided=("x",)
    ),
    "no classification": model_answers.Classification(
        "t", note="n", failed=True, none_of_these=True
    ),
    "topics": _TOPICS_FOUND,
    "dimensions": codec.to_json(
        model_answers.DimensionReport(
            "spg", "", 3, 4, (model_answers.Dimension(1, 0.9, 2, (_WORD,), (), (_NEAR,), ()),)
        )
    ),
    "document": model_documents.Document(
        "A", "text", "a", ("x",), metadata={"n": [1]}, sections=(_SECTION,)
    ),
    "bare document": model_documents.Document("", "text"),
    "entry": _ENTRY,
    "label": model_documents.LabelReport(3, 2, 1),
    "prediction": model_documents.PredictionReport(3, 1, {"x": 1}, "svm", 1, 2),
    "ingest": codec.ingest_record(
        model_documents.IngestReport(
            added=1,
            skipped={"x": 2},
            failures=[model_documents.Trouble("a.txt", "is empty", "line 2")],
        ),
        Path("n.db"),
    ),
    "plan": model_reports.IndexPlan(1, 2, 3, 4.0, 5.5, stages={"learn": 1.0}),
    "index": _BUILT,
    "findings": codec.Findings.of(
        [
            model_documents.Finding("a", ok=True, detail="b"),
            model_documents.Finding("c", ok=False, detail="d"),
        ]
    ),
    "status": {"library": "n.db", "n": np.int64(1), "spread": [math.nan]},
    "report": codec.report_record(_REPORT),
    "full report": _REPORT,
}


def test_records() -> None:
    """Each record is written as the JSON that it was before, to the last digit."""
    written = {
        name: json.loads(codec.json_text(codec.to_json(form))) for name, form in _FORMS.items()
    }
    _compare("records", written)


def test_forms(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fields of records and options, as they are without other forms, have these schemas."""
    from lpisearch import options
    from lpisearch.model import answers, documents, reports

    monkeypatch.setattr(codec, "FORMS", {})
    codec.keys_of.cache_clear()
    modules = (options, answers, documents, reports)
    named = {name: value for module in modules for name, value in vars(module).items()}
    kinds = {name: kind for name, kind in named.items() if isinstance(kind, type)}
    arrays = {"DocumentMap"}  # its fields are arrays: it is never read
    known = [name for name in kinds if is_dataclass(kinds[name]) and name not in arrays]
    try:
        _compare("forms", {name: codec.schema(kinds[name]) for name in sorted(known)})
    finally:
        codec.keys_of.cache_clear()

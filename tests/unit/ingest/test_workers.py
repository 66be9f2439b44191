from __future__ import annotations

import gzip
import json
import os
from typing import TYPE_CHECKING, Any

import pytest

from lpisearch.ingest import ingestion, recorder
from lpisearch.readers.isolation import WorkerProcess
from lpisearch.text import tokeniser

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.model.documents import IngestReport

    Ingest = Callable[..., IngestReport]
    Sql = Callable[..., list[Any]]
    Folder = Callable[..., Path]
    Sound = Callable[..., None]

pytestmark = pytest.mark.skipif(os.name != "posix", reason="workers are ended by signals")

ROWS = (
    "SELECT id, external_id, source_id, position, hex(content_hash), path, text FROM documents",
    "SELECT * FROM document_tokens ORDER BY document_id",
    "SELECT * FROM document_traits ORDER BY document_id",
    "SELECT * FROM labels ORDER BY document_id, position",
    "SELECT id, path, root, format, size, mtime_ns FROM sources ORDER BY id",
    "SELECT name, value FROM settings WHERE name = 'tokeniser'",
)
_GERMAN = "Der Hafen ist mit dem Schiff in der Stadt, und die Leute sind nicht auf der Insel."
ENGLISH = "The harbour of the town is full of ships, and they were not on the island."


def mixed_files(language: str = ENGLISH) -> dict[str, str | bytes]:
    """Return 94 documents in files of several kinds."""
    files: dict[str, str | bytes] = {
        f"notes/{number}.txt": f"Note {number}\n\n{language} {number}" for number in range(40)
    }
    files["page.html"] = f"<title>A page</title><p>{_GERMAN}</p>"
    files["packed.txt.gz"] = gzip.compress(f"C++ and parseXMLFile. {ENGLISH}".encode())
    files["LICENSE"] = "MIT License\n\nPermission is hereby granted."
    files["tokyo.txt"] = "東京の港は大きい。" * 5
    records = ({"text": f"{ENGLISH} {number}", "labels": ["x"]} for number in range(50))
    files["records.jsonl"] = "".join(json.dumps(record) + "\n" for record in records)
    return files


@pytest.mark.parametrize("language", [ENGLISH, _GERMAN])
def test_library_is_the_same_whatever_reads_it(
    ingest: Ingest, folder: Folder, sql: Sql, tmp_path: Path, language: str
) -> None:
    root = folder(mixed_files(language))
    libraries = [tmp_path / f"{workers}.db" for workers in range(4)]
    for workers, library in enumerate(libraries):
        assert ingest(root, into=library, workers=workers).added == 94
    for statement in ROWS:
        first, *others = [sql(statement, on=library) for library in libraries]
        assert first
        assert others == [first] * 3


def test_tokens_are_made_by_the_workers(
    ingest: Ingest, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_arguments: object) -> None:
        raise AssertionError("tokenised by the process that writes")

    monkeypatch.setattr(tokeniser.Tokeniser, "joined", refuse)
    assert ingest(folder(mixed_files()), workers=1).added == 94


def test_large_runs_share_smallmixed_files(
    ingest: Ingest, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "_SHARED_BYTES", 1)
    monkeypatch.setattr(tokeniser.Tokeniser, "joined", None)
    assert ingest(folder({"a.txt": ENGLISH})).added == 1


def test_of_a_known_file_of_many_documents_only_new_ones_are_tokenised(
    ingest: Ingest, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = mixed_files()["records.jsonl"]
    assert isinstance(lines, str)
    ingest(folder({"records.jsonl": lines}), workers=1)
    sent = []
    whole = WorkerProcess._send

    def send(worker: WorkerProcess, requests: list[dict[str, Any]]) -> None:
        sent.extend(requests)
        whole(worker, requests)

    monkeypatch.setattr(WorkerProcess, "_send", send)
    more = lines + json.dumps({"text": _GERMAN}) + "\n"
    assert ingest(folder({"records.jsonl": more}), workers=1).added == 1
    assert [request["tokens"] for request in sent] == [None]


def test_a_killed_worker_costs_the_file_that_it_was_reading(
    ingest: Ingest, folder: Folder, sound: Sound, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = WorkerProcess._send
    sent: list[int] = []

    def send(worker: WorkerProcess, requests: list[dict[str, Any]]) -> None:
        sent.append(len(requests))
        if len(sent) == 2:
            worker.kill()
            worker._process.wait()
        whole(worker, requests)

    root = folder({f"{number:02}.txt": f"{ENGLISH} {number}" for number in range(40)})
    with monkeypatch.context() as patched:
        patched.setattr(WorkerProcess, "_send", send)
        report = ingest(root, workers=1)
    assert sent[:3] == [16, 16, 15]  # the others of the group go to the next worker
    (failure,) = report.failures
    assert failure.path.endswith("16.txt")
    assert "killed" in str(failure.reason)
    assert report.added == 39
    sound()
    assert ingest(root, retry=True).added == 1


def test_first_batch_does_not_depend_on_the_clock(
    ingest: Ingest, folder: Folder, sql: Sql, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "_BATCH_SECONDS", 0.0)
    files = {"0.txt": _GERMAN} | {f"{number}.txt": ENGLISH for number in range(1, 6)}
    ingest(folder(files))
    ((stored,),) = sql("SELECT value FROM settings WHERE name = 'tokeniser'")
    assert json.loads(stored)["main"] == "english"

"""Many who write at once, and those who read meanwhile."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.library import Library
from lpisearch.location import Address
from lpisearch.options import IndexOptions, IngestOptions

_WRITERS = 8
_FILES = 25
_OPTIONS = IngestOptions(batch_documents=5, wait_seconds=120.0)


def test_eight_writers_lose_nothing(
    address: Address, folder: Callable[..., Path], sound_at: Callable[[Address], None]
) -> None:
    roots = [
        folder({f"{n}.txt": f"note {n} of writer{who}" for n in range(_FILES)}, f"w{who}")
        for who in range(_WRITERS)
    ]
    reports: list[Any] = []

    def write(root: Path) -> None:
        reports.append(run_ingest(address, [str(root)], _OPTIONS))

    run_ingest(
        address,
        [str(folder({"a.txt": "note ship harbour", "b.txt": "note cake flour"}, "first"))],
        _OPTIONS,
    )
    build_index(address, IndexOptions(method="lsi", dims=1))
    writers = [threading.Thread(target=write, args=(root,)) for root in roots]
    for writer in writers:
        writer.start()
    with Library(address) as library:
        seen = 0
        while any(writer.is_alive() for writer in writers):
            counted = len(library)
            assert counted >= seen
            seen = counted
            library.search("note", k=1)
    for writer in writers:
        writer.join()
    assert [report.added for report in reports] == [_FILES] * _WRITERS
    with Library(address) as library:
        assert len({one.id for one in library}) == _WRITERS * _FILES + 2
        for who in range(_WRITERS):
            assert len(library.search(f"writer{who}", by="lexical", k=50)) == _FILES
        assert [index["state"] for index in library.status()["indexes"]] != ["damaged"]
    sound_at(address)
    again = run_ingest(address, [str(root) for root in roots], _OPTIONS)
    assert (again.added, again.unchanged) == (0, _WRITERS * _FILES)


def test_two_writers_of_one_folder_take_turns(
    address: Address, folder: Callable[..., Path], sound_at: Callable[[Address], None]
) -> None:
    root = folder({f"{n}.txt": f"note {n}" for n in range(_FILES)})
    reports: list[Any] = []

    def write() -> None:
        reports.append(run_ingest(address, [str(root)], _OPTIONS))

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert sorted(report.added for report in reports) == [0, _FILES]
    sound_at(address)

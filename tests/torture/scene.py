"""A small library, what is done to it, and what must hold whatever became of it."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import lpisearch
from lpisearch.cli.failures import stated
from lpisearch.config import file_beside, set_preference
from lpisearch.options import IngestOptions

Verb = Callable[[Path], object]
State = dict[str, tuple[str, str, tuple[str, ...], tuple[str, ...]]]

FAILURES = ("lost", "unsound", "unstated", "silent", "damage", "locked", "wrong", "slow")
"""Outcomes that must not be; all others may."""
_TOPICS = {"sea": "ship boat harbour anchor tide", "kitchen": "bread flour oven butter crust"}


@dataclass(frozen=True)
class Scene:
    """A library with an index, and the files that it was made of, as they are now.

    Attributes
    ----------
    folder
        Where all of it lies; removed by whoever made it.
    """

    folder: Path

    @classmethod
    def make(cls, folder: Path) -> Scene:
        """Write the files, and make the library."""
        _write(folder / "files", range(30), "")
        with lpisearch.open(folder / "library.db") as library:
            library.ingest(folder / "files", labels="folder")
            library.index("lsi", dims=3)
        # What a further ingest finds: files that stayed, changed, came and went.
        shutil.rmtree(folder / "files")
        _write(folder / "files", range(10), "")
        _write(folder / "files", range(10, 36), "anew")
        return cls(folder)

    @cached_property
    def verbs(self) -> dict[str, Verb]:
        """What writes, by name; each can be repeated."""
        return {
            "ingest": self._ingest,
            "index": _index,
            "delete": _delete,
            "retokenise": lambda path: _opened(path).retokenise(),
            "export": lambda path: _opened(path).export(path.with_name("out.jsonl")),
            "backup": _back_up,
            "label": _label,
            "classify": _classify,
            "config": lambda path: set_preference(file_beside(path), "k", ["7"], own=False),
        }

    def copy(self, name: str) -> Path:
        """Return a copy of the library in a folder of its own."""
        place = self.folder / name
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        shutil.copyfile(self.folder / "library.db", place / "library.db")
        shutil.copytree(self.folder / "library.index", place / "library.index")
        return place / "library.db"

    def after(self, verb: str) -> State:
        """Return what a library holds when a verb has done its work."""
        path = self.copy(f"whole-{verb}")
        self.verbs[verb](path)
        return state(path)

    def _ingest(self, path: Path) -> object:
        options = IngestOptions(prune=True, batch_documents=5)
        with lpisearch.open(path) as library:
            return library.ingest(self.folder / "files", labels="folder", options=options)


def state(path: Path) -> State:
    """Return all documents of a library, with labels given and predicted, and its settings."""
    with lpisearch.open(path) as library:
        predicted = {
            one.id: tuple(sorted(p.label for p in one.predicted)) for one in library.entries()
        }
        documents = {
            each.id or "": (each.title, each.text, each.labels, predicted[each.id or ""])
            for each in library
        }
    settings = file_beside(path)
    text = settings.read_text("utf-8") if settings.exists() else ""
    return documents | {settings.name: ("", text, (), ())}


def judged(path: Path, before: State, after: State, again: Verb) -> str:
    """Say what became of a library at which a verb was cut short: "kept", or how it failed."""
    try:
        if fault := _fault(path, before, after):
            return fault
        again(path)
        if state(path) != after:
            return "lost: after the verb was repeated"
        return _fault(path, after, after) or "kept"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return f"unstated: {type(error).__name__}: {error}"


def _fault(path: Path, before: State, after: State) -> str:
    with lpisearch.open(path) as library:
        bad = [each.check for each in library.examine() if not each.ok]
        if bad:
            return f"unsound: {bad}"
        notes = library.search("ship", by="semantic").notes
        if any("damaged" in said or "cannot be read" in said for said in notes):
            return f"damage: {notes}"
    now = state(path)
    for name in {*before, *after, *now}:
        if now.get(name) not in (before.get(name), after.get(name)):
            return f"lost: {name}"
    return ""


def forked(work: Callable[[], object]) -> int:
    """Do some work in a process of its own, which ends with status 0, or 3 for a stated error."""
    child = os.fork()
    if child:
        return child
    status = 4
    try:
        sys.stderr = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until it ends)
        work()
        status = 0
    except BaseException as error:  # noqa: BLE001 (told by its status)
        status = 4 if stated(error, "") is None else 3
        if status != 3:
            os.write(1, f"{traceback.format_exc()}\n".encode())
    finally:
        os._exit(status)


def tried(verb: Verb, library: Path) -> Callable[[], object]:
    """Return a verb with its library, to be done in another process."""
    return partial(_on, verb, library)


def _on(verb: Verb, library: Path) -> object:
    return verb(library)


def shuffled(names: dict[str, Verb], chance: random.Random) -> list[str]:
    """Return the verbs in an order of chance."""
    return chance.sample(sorted(names), len(names))


def _write(folder: Path, numbers: range, more: str) -> None:
    for number in numbers:
        topic = sorted(_TOPICS)[number % 2]
        path = folder / topic / f"{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{_TOPICS[topic]} number{number} {more}", encoding="utf-8")
    records = [{"id": f"r{n}", "text": f"{_TOPICS['sea']} record{n} {more}"} for n in numbers]
    lines = "".join(json.dumps(each) + "\n" for each in records)
    with (folder / "records.jsonl").open("a", encoding="utf-8") as stream:
        stream.write(lines)


def _opened(path: Path) -> lpisearch.Library:
    return lpisearch.open(path)


def _index(path: Path) -> object:
    with lpisearch.open(path) as library:
        return library.index("lsi", dims=4)


def _delete(path: Path) -> None:
    with lpisearch.open(path) as library:
        known = {each.id for each in library.entries()}
        library.delete(*sorted({"sea/1.txt", "kitchen/0.txt"} & known))


def _label(path: Path) -> object:
    with lpisearch.open(path) as library:
        return library.label("sea/3.txt", "kitchen/2.txt", add="mine")


def _classify(path: Path) -> object:
    with lpisearch.open(path) as library:
        return library.predict_labels()


def _back_up(path: Path) -> object:
    target = path.with_name("copy.db")
    target.unlink(missing_ok=True)
    with lpisearch.open(path) as library:
        return library.back_up(target)

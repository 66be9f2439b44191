"""Readers beside a writer: never damage, never "locked", never a wrong answer."""

import json
import os
import shutil
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import lpisearch
from tests.torture.kills import scene
from tests.torture.scene import Scene, forked

READERS = 8
# In all states of the library; its word is in no other document.
_ALWAYS, _ITS_WORD = "sea/5.txt", "number5"


def run(tries: int, seed: int, until: float) -> dict[str, Counter[str]]:
    """Let readers ask, each as often as said, while a writer builds, prunes and reads again."""
    del seed  # the moments are those of the machine
    with scene() as made:
        library = made.copy("tried")
        results = [made.folder / f"reader{number}.json" for number in range(READERS)]
        writer = forked(lambda: _write(made, library))
        readers = [forked(partial(_read, library, tries, until, each)) for each in results]
        for reader in readers:
            os.waitpid(reader, 0)
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        found: Counter[str] = Counter()
        for path in results:
            told = path.read_text(encoding="utf-8") if path.exists() else '{"lost": 1}'
            found.update(json.loads(told))
        written = len(list(made.folder.glob("written-*")))
        shutil.rmtree(library.parent)
    return {f"{READERS} readers, {written} writes": found}


def _write(made: Scene, library: Path) -> None:
    number = 0
    while True:
        for name in ("index", "ingest", "delete", "retokenise"):
            made.verbs[name](library)
            number += 1
            (made.folder / f"written-{number}").touch()


def _read(library: Path, tries: int, until: float, result: Path) -> None:
    counts: Counter[str] = Counter()
    kept = lpisearch.open(library)
    for number in range(tries):
        if time.monotonic() > until:
            break
        outcome = _asked(kept if number % 2 else lpisearch.open(library), number)
        counts[outcome.split(":")[0]] += 1
        if ":" in outcome:
            os.write(1, f"{outcome}\n".encode())
    result.write_text(json.dumps(counts), encoding="utf-8")


def _asked(library: lpisearch.Library, number: int) -> str:
    by = ("hybrid", "lexical", "semantic")[number % 3]
    try:
        answer = library.search(_ITS_WORD, by=by, k=50)
        shown = library.document(_ALWAYS)
    except lpisearch.LibraryLocked as error:
        return f"locked: {error}"
    except Exception as error:  # noqa: BLE001 (whatever it is, it is what is looked for)
        return f"unstated: {type(error).__name__}: {error}"
    if any("damaged" in note or "cannot be read" in note for note in answer.notes):
        return f"damage: {answer.notes}"
    if by != "semantic" and [hit.id for hit in answer][:1] != [_ALWAYS]:
        return f"wrong: {[hit.id for hit in answer][:3]} {answer.notes}"
    if _ITS_WORD not in shown.text:
        return "wrong: another text"
    return "right"

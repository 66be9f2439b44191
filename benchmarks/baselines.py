"""Record answers, index files and times of the program, and compare two records.

Record with the program before a change and with the program after it, then compare:

    python benchmarks/baselines.py record before --program OLD/.venv/bin/lpisearch
    python benchmarks/baselines.py record after
    python benchmarks/baselines.py compare before after

`record` makes a library of each collection in a folder of its own; it keeps digests of the files of
its indexes, and what each verb of `baselines.txt` prints with `--json`; of the sample corpus also
modules loaded, the deepest stack of our own frames, and processor times. A collection is a folder
with `documents` or `docs.jsonl.gz`, and perhaps `queries.jsonl` and `qrels.tsv`; by itself the
sample corpus, and 20 Newsgroups where it is there.

`compare` names each file of an index and each place in the answers that differs, and ends with
status 1 if there is any; measures are printed side by side. With `--ignore-notes`, what is written
for people to read (the values of `PROSE`) may differ; it must still be there, and as much of it.

What is not the same in two runs is left out: `verified.json` of an index (times and inodes of its
files), the date in its manifest, the random part of its folder's name, the temporary folder, times
and memory (`VARYING`), the version of the program, and digits of answers beyond the twelfth, which
depend on where arrays lie in memory. All runs have one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import resource
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

SAMPLE = "sample_corpus"
ROOT = Path(__file__).parents[1]
COLLECTIONS = (ROOT / SAMPLE, ROOT.parent / "shared" / "data" / "20newsgroups")
VERBS = Path(__file__).with_suffix(".txt")
VARYING = {"created", "seconds", "processor_seconds", "peak_mb", "lpisearch"}
VARYING |= {"fit_s", "predict_s", "cluster_s"}
"""Keys of answers whose values no two runs share: dates, times, memory, the program's version."""
PROSE = {"notes", "note", "index_notes", "warnings", "reason", "detail", "next_step", "rebuild"}
"""Keys of answers whose values are texts for people."""
LARGE, ROUNDS, QUESTION = 5000, 9, "why does the engine stop when it is cold"
STACK = """
import json, sys
at, seen = 0, []
def ours(frame):
    name = frame.f_globals.get("__name__", "")
    return name.startswith("lpisearch") and frame.f_code.co_name != "<module>"
def look(frame, event, _argument):
    global at, seen
    if event in ("call", "return") and ours(frame):
        at += 1 if event == "call" else -1
        if at > len(seen):
            seen, above = [], frame
            while above is not None:
                if ours(above):
                    seen.insert(0, above.f_globals["__name__"] + "." + above.f_code.co_qualname)
                above = above.f_back
from lpisearch.cli import main
sys.argv[1:] = {words}
sys.setprofile(look)
try:
    main()
finally:
    sys.setprofile(None)
    print(json.dumps(seen), file=sys.stderr)
"""
WARM = """
import lpisearch, statistics, time
with lpisearch.open("library.db") as library:
    taken = []
    for _ in range(30):
        begun = time.process_time()
        library.search({question!r}, k=10)
        taken.append(time.process_time() - begun)
print(statistics.median(taken[5:]))
"""


class Program:
    """The recorded program, in a folder of its own."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.python, self.folder = program.absolute().parent / "python", folder
        own = {f"XDG_{name}_HOME": str(folder / name) for name in ("CACHE", "CONFIG", "STATE")}
        threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
        inherited = {name: value for name, value in os.environ.items() if "LPISEARCH" not in name}
        self.environment = inherited | own | threads

    def python_run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run Python with these words."""
        given: dict[str, Any] = {"cwd": self.folder, "env": self.environment, "text": True}
        return subprocess.run([str(self.python), *words], capture_output=True, check=False, **given)

    def run(self, *words: str, how: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        """Run the program on the library of the folder, with options of Python."""
        return self.python_run(*how, "-m", "lpisearch", "--db", "library.db", *words)

    def answer(self, *words: str) -> dict[str, Any]:
        """Return the status of the end and what was printed as JSON, normalised."""
        done = self.run(*words, "--json")
        said = json.loads(done.stdout) if done.stdout.strip() else None
        return {"status": done.returncode, "answer": normalised(said, str(self.folder))}

    def processor_seconds(self, *words: str) -> float:
        """Return the median of the processor time of several runs."""
        spent = []
        for _ in range(ROUNDS + 1):
            spent.append(sum(resource.getrusage(resource.RUSAGE_CHILDREN)[:2]))
            self.run(*words)
        return statistics.median(after - before for before, after in pairwise(spent))


def normalised(value: Any, folder: str) -> Any:
    """Return an answer without what no two runs share."""
    if isinstance(value, dict):
        return {
            name: "…" if name in VARYING and each is not None else normalised(each, folder)
            for name, each in value.items()
        }
    if isinstance(value, list):
        return [normalised(each, folder) for each in value]
    if isinstance(value, float):
        return float(f"{value:.12g}")
    if isinstance(value, str):
        return re.sub(r"(\.index/[\w.-]+)-[0-9a-f]{12}\b", r"\1-…", value.replace(folder, "…"))
    return value


def record(folder: Path, program: Path, collections: Sequence[Path]) -> None:
    """Write what the program does with each collection into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for collection in collections:
        if not collection.is_dir():
            print(f"{collection.name}: skipped, there is no folder {collection}")
            continue
        with tempfile.TemporaryDirectory(prefix="baselines-") as temporary:
            is_sample = collection.name == SAMPLE
            ours = Program(program, Path(temporary).resolve())
            copy: dict[str, Any] = {"dirs_exist_ok": True, "copy_function": shutil.copyfile}
            shutil.copytree(collection, ours.folder, **copy)
            _write(folder / f"{collection.name}.json", recorded(ours, is_sample=is_sample))
            if is_sample:
                _write(folder / "measures.json", measured(ours))
        print(f"{collection.name}: recorded")


def recorded(program: Program, *, is_sample: bool) -> dict[str, Any]:
    """Return digests of the indexes of a collection, and all answers."""
    folder = program.folder
    documents = "documents" if (folder / "documents").exists() else "docs.jsonl.gz"
    answers = {"ingest": program.answer("ingest", documents), "index": program.answer("index")}
    program.run("config", "set", "opener", "true")  # `open` then starts nothing that is seen
    (folder / "note.txt").write_text(QUESTION, encoding="utf-8")
    first, second = program.answer("docs", "list", "-n", "2")["answer"]
    told = {"first": first["id"], "second": second["id"], "label": first["labels"][0]}
    told |= {"documents": documents, "question": QUESTION}
    judged, small = (folder / "qrels.tsv").exists(), answers["ingest"]["answer"]["added"] <= LARGE
    kinds = {"sample": is_sample, "judged": judged, "small": small, "large": not small}
    for line in VERBS.read_text("utf-8").splitlines():
        kind, *words = shlex.split(line, comments=True) or ["none"]
        if kinds.get(kind, kind == "any"):
            name = " ".join(words)
            name = f"{name} (again)" if name in answers else name
            answers[name] = program.answer(*(word.format(**told) for word in words))
    files = dict(_digests(folder / "library.index"))
    exported = (folder / "out.jsonl").read_text("utf-8").replace(str(folder), "")
    files["docs export"] = hashlib.sha256(exported.encode()).hexdigest()
    return {"files": files, "answers": answers}


def _digests(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted({*folder.rglob("*.*")} - {*folder.rglob("verified.json")}):
        content = file.read_bytes()
        if file.name == "manifest.json":
            content = json.dumps(normalised(json.loads(content), "")).encode()
        name = re.sub(r"-[0-9a-f]{12}/", "/", file.relative_to(folder).as_posix())
        yield name, hashlib.sha256(content).hexdigest()


def measured(program: Program) -> dict[str, Any]:
    """Return what is loaded, how deep calls go, and processor times."""
    program.run("index")  # afresh, after all that changed the library
    verbs = {"--help": ["--help"], "status": ["status"], "query": ["query", QUESTION, "--json"]}
    times = {name: program.processor_seconds(*words) for name, words in verbs.items()}
    times["warm query"] = float(program.python_run("-c", WARM.format(question=QUESTION)).stdout)
    loaded = {name: _modules(program, words) for name, words in verbs.items()}
    loaded["index"] = _modules(program, ["index"])
    words = ["--db", "library.db", *verbs["query"]]
    said = program.python_run("-c", STACK.format(words=words)).stderr
    return {"modules": loaded, "stack": json.loads(said.splitlines()[-1]), "seconds": times}


def _modules(program: Program, words: Sequence[str]) -> list[str]:
    said = program.run(*words, how=("-X", "importtime")).stderr
    return sorted(set(re.findall(r"^import time:.*\| +(lpisearch[\w.]*)$", said, re.MULTILINE)))


def _write(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _read(file: Path) -> dict[str, Any]:
    return dict(json.loads(file.read_text("utf-8"))) if file.exists() else {}


def differences(one: Any, other: Any, where: str = "", *, skip_prose: bool) -> Iterator[str]:
    """Yield each place at which two values differ."""
    if isinstance(one, dict) and isinstance(other, dict):
        for name in dict.fromkeys([*one, *other]):
            place = f"{where} / {name}" if where else name
            if name not in one or name not in other:
                yield f"{place}: only in the {'first' if name in one else 'second'}"
            elif not (skip_prose and name in PROSE and _as_much(one[name], other[name])):
                yield from differences(one[name], other[name], place, skip_prose=skip_prose)
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for at, pair in enumerate(zip(one, other, strict=True)):
            yield from differences(*pair, f"{where}[{at}]", skip_prose=skip_prose)
    elif one != other or type(one) is not type(other):
        yield f"{where}: {one!r:.90} → {other!r:.90}"


def _as_much(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(isinstance(each, str) for each in (*one, *other))
    return isinstance(one, str) and isinstance(other, str) and bool(one) == bool(other)


def compare(first: Path, second: Path, *, skip_prose: bool) -> int:
    """Print what differs; return how many differences of files and answers there are."""
    names = sorted({file.name for folder in (first, second) for file in folder.glob("*.json")})
    found = 0
    for name in names:
        one, other = (_read(each / name) for each in (first, second))
        if name == "measures.json":
            _print_measures(one or other, other or one)
            continue
        unlike = list(differences(one, other, skip_prose=skip_prose))
        print(f"{name}: {len(unlike)} differences", *unlike, sep="\n  ")
        for verb in one.get("answers", ()):
            if verb.startswith(("evaluate retrieval", "evaluate similarity")):
                sides = (_precisions(side.get("answers", {}).get(verb)) for side in (one, other))
                print(f"  AP, {verb}: {' → '.join(sides)}")
        found += len(unlike)
    return found


def _precisions(said: Any) -> str:
    answer = (said or {}).get("answer") or {}
    rows = answer.get("runs", answer.get("rows", ()))
    return ", ".join(f"{next(iter(row.values()))} {row['AP']:.4f}" for row in rows if "AP" in row)


def _print_measures(one: dict[str, Any], other: dict[str, Any]) -> None:
    print("measures")
    for name in one["modules"]:
        print(f"  modules, {name}: {len(one['modules'][name])} → {len(other['modules'][name])}")
    print(f"  deepest stack of a query: {len(one['stack'])} → {len(other['stack'])}")
    for name, before in one["seconds"].items():
        after = other["seconds"][name]
        print(f"  {name}: {before:.4f} → {after:.4f} s of the processor, × {after / before:.2f}")


def main() -> None:
    """Record, or compare."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    recording = verbs.add_parser("record")
    recording.add_argument("folder", type=Path)
    beside = Path(sys.executable).parent / "lpisearch"
    recording.add_argument("--program", type=Path, default=beside)
    recording.add_argument("--collection", type=Path, nargs="+", default=COLLECTIONS)
    comparing = verbs.add_parser("compare")
    comparing.add_argument("first", type=Path)
    comparing.add_argument("second", type=Path)
    comparing.add_argument("--ignore-notes", action="store_true")
    given = parser.parse_args()
    if given.verb == "record":
        record(given.folder, given.program, given.collection)
    elif compare(given.first, given.second, skip_prose=given.ignore_notes):
        sys.exit(1)


if __name__ == "__main__":
    main()

"""From nothing to the first answer, on a corpus of any size, compared with other tools.

Run `python -m benchmarks.scale [--documents N | --growth 10000,30000,100000]`. `--build-only`
leaves out the verbs after `index`, `--peers none` or `--peers fts5,svd` some of the others, and
`--write docs/scale.md` puts the table of growth into the docs. Everything happens in a throw-away
folder; the corpus is that of `scale_corpus.py`. Each verb runs as a process of its own, as a person
would run it. Peers run in the same minutes; ratios and growth are those of CPU time, which means
something on a busy machine too. Peers that are not installed (`pip install bm25s tantivy`) are
named and left out.
"""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import tempfile
import time
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.beside import truncated_svd
from benchmarks.peers import peer_command, process
from benchmarks.scale_corpus import documents, write_corpus
from lpisearch import SearchOptions, open  # noqa: A004 (the name of the front door)

if TYPE_CHECKING:
    from collections.abc import Callable

MARK = "<!-- measured: printed by benchmarks/scale.py -->"
END = "<!-- end of measured -->"
HEAD = f"| {'':30} | seconds | processor | peak MB |\n| :{'-' * 29} | ---: | ---: | ---: |"
QUERIES = 100
CLASSIFIED = 200
# What stands between the weighted matrix and the places of all documents.
MAP_STAGES = ("finding neighbours", "projecting", "embedding documents")


class Step(NamedTuple):
    """What one process took."""

    name: str
    seconds: float
    cpu: float
    peak_mb: float
    said: Any


class Page:
    """Prints lines, and keeps them to be written into a page of the docs."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def say(self, line: str = "") -> None:
        """Print a line."""
        print(line, flush=True)
        self.lines.append(line)

    def write(self, path: Path) -> None:
        """Put the lines between the marks of a page."""
        text = path.read_text(encoding="utf-8")
        before, rest = text.split(MARK)
        after = rest.split(END)[1]
        lines = "\n".join(self.lines)
        path.write_text(f"{before}{MARK}\n{lines}\n{END}{after}", encoding="utf-8")


PAGE = Page()


def main() -> None:
    """Measure one size, or several and how the time grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--growth", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--dims", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--peers", default="fts5,tantivy,bm25s,svd", help="none, or some names")
    parser.add_argument("--build-only", action="store_true", help="ingest and index alone")
    parser.add_argument("--train", help="of index: none learns no labels")
    parser.add_argument(
        "--library", type=Path, action="append", help="one that is there: `index` alone is measured"
    )
    parser.add_argument("--folder", type=Path, help="keep everything here")
    parser.add_argument("--write", type=Path, help="a page of the docs")
    arguments = parser.parse_args()
    sizes = arguments.growth or [arguments.documents]
    PAGE.say(f"`python -m benchmarks.scale {shlex.join(sys.argv[1:])}`")
    runs = dict(measure_index(library, arguments) for library in arguments.library or ())
    for size in [] if runs else sizes:
        with tempfile.TemporaryDirectory() as throw_away:
            folder = arguments.folder or Path(throw_away)
            runs[size] = measure(folder, size, arguments)
    if len(runs) > 1:
        del PAGE.lines[1:]  # the table of growth has the same figures
        print_growth(runs)
    if arguments.write:
        PAGE.write(arguments.write)


def measure(folder: Path, size: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Take one corpus through all verbs; return the processor's seconds of each stage."""
    corpus, library = folder / f"corpus{size}.jsonl", folder / f"scale{size}.db"
    if not corpus.exists():
        write_corpus(corpus, size)
    library.unlink(missing_ok=True)
    PAGE.say(f"\n{size:,} documents, {corpus.stat().st_size / 1e6:,.0f} MB of JSON Lines\n")
    PAGE.say(HEAD)
    steps = [run(library, "ingest", str(corpus)), run(library, *_index(arguments))]
    seconds = {step.name: step.cpu for step in steps} | _stages(steps[1])
    seconds |= {f"{step.name}: peak MB": step.peak_mb for step in steps}
    texts = [each["text"] for each in documents(CLASSIFIED, seed=1)]
    if not arguments.build_only:
        seconds |= _others(folder, library, corpus, texts)
    seconds |= _say_built(library, steps[1])
    minutes = (steps[0].seconds + steps[1].seconds) / 60
    PAGE.say(f"\nIngest and index took {minutes:.1f} minutes.")
    beside_peers(corpus, library, seconds, steps[1].said["dims"], arguments.peers.split(","))
    return seconds


def measure_index(library: Path, arguments: argparse.Namespace) -> tuple[int, dict[str, float]]:
    """Build the index of a library that is there; return its size and seconds by stage."""
    PAGE.say(f"\n{library.name}\n")
    PAGE.say(HEAD)
    step = run(library, *_index(arguments))
    seconds = {"index": step.cpu} | _stages(step) | {"index: peak MB": step.peak_mb}
    seconds |= _say_built(library, step)
    return step.said["documents"], seconds


def _stages(step: Step) -> dict[str, float]:
    """Print the stages of a build; return the seconds of the processor of each."""
    for stage, taken in step.said["seconds"].items():
        cpu = step.said["processor_seconds"][stage]
        PAGE.say(f"| – {stage:28} | {taken:7.2f} | {cpu:7.2f} | |")
    return {f"index: {stage}": cpu for stage, cpu in step.said["processor_seconds"].items()}


def _say_built(library: Path, step: Step) -> dict[str, float]:
    """Print what came out, and what was estimated; return the megabytes."""
    with open(library) as opened:
        plan = opened.plan()
    built = step.said
    size = built["size_bytes"] / 1e6
    PAGE.say(
        f"\n{built['documents']:,} documents, {built['dims']} dimensions, learned from "
        f"{built['learned_from']:,}; neighbours kept {built['graph_recall']}; estimated "
        f"{plan.memory_mb:,.0f} MB, taken {step.peak_mb:,.0f} MB; index {size:,.0f} MB"
    )
    return {"index: estimated MB": plan.memory_mb, "index: MB on disk": size}


def _index(arguments: argparse.Namespace) -> list[str]:
    """Return the words of the call that builds the index."""
    asked = {name: getattr(arguments, name) for name in ("dims", "memory", "train")}
    given = [[f"--{name}", str(value)] for name, value in asked.items() if value]
    return ["index", *chain.from_iterable(given)]


def _others(folder: Path, library: Path, corpus: Path, texts: list[str]) -> dict[str, float]:
    """Measure what is done with a library that is built."""
    batch = folder / "texts.jsonl"
    batch.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    steps = [
        run(library, "query", "--", texts[0][:60]),
        run(library, "topics"),
        run(library, "classify", str(batch)),
        run(library, "similar", "0"),
        run(library, "doctor"),
        run(library, "ingest", str(corpus), "--prune"),
        run(library, "docs export", str(folder / "out.jsonl")),
    ]
    return {step.name: step.cpu for step in steps} | answers(library, texts)


def run(library: Path, *words: str) -> Step:
    """Run a verb as a process of its own and print what it took."""
    verb = words[0].split()
    program = [sys.executable, "-m", "lpisearch", "--db", str(library)]
    taken = process([*program, *verb, "--json", *words[1:]])
    name = "ingest again, --prune" if "--prune" in words else words[0]
    step = Step(name, taken.seconds, taken.cpu, taken.peak_mb, json.loads(taken.printed))
    PAGE.say(f"| {name:30} | {step.seconds:7.2f} | {step.cpu:7.2f} | {step.peak_mb:,.0f} |")
    return step


def answers(library: Path, texts: list[str]) -> dict[str, float]:
    """Time warm queries in an open library, compared with a bare scan of as many vectors."""
    queries = [" ".join(text.split()[:5]) for text in texts[:QUERIES]]
    medians = {}
    with open(library) as opened:
        vectors = np.zeros((opened.status()["documents"], 300), np.float32)
        for by in ("hybrid", "semantic", "lexical"):
            options = SearchOptions(by=by)
            opened.search(queries[0], options=options)
            times = [_timed(lambda: opened.search(each, options=options)) for each in queries]  # noqa: B023
            p50, p95 = np.percentile(times, (50, 95))
            PAGE.say(f"| warm {by + ', p50':25} | {p50:7.4f} | p95 {p95:.4f} | |")
            medians[f"warm {by}"] = float(p50)
    bare = float(np.median([_timed(lambda: vectors @ vectors[0]) for _ in range(20)]))
    PAGE.say(f"| product of 300 float32, NumPy  | {bare:7.4f} | | |")
    return medians


def beside_peers(
    corpus: Path, library: Path, seconds: dict[str, float], dims: int, peers: list[str]
) -> None:
    """Compare with others that take in the same texts, and with TruncatedSVD of the same matrix."""
    PAGE.say()
    for name in ("fts5", "tantivy", "bm25s"):
        if name not in peers:
            continue
        with tempfile.TemporaryDirectory() as folder:
            cpu = process([*peer_command(name), str(corpus), folder]).cpu
        ratio = seconds[f"ingest ÷ {name}"] = seconds["ingest"] / cpu
        PAGE.say(f"- {name}: {cpu:.1f} s of CPU time; ingest takes {ratio:.2f} times that")
    if "svd" in peers:
        cpu = truncated_svd(library, dims)
        mapped = sum(seconds.get(f"index: {stage}", 0) for stage in MAP_STAGES)
        seconds["model ÷ TruncatedSVD"] = mapped / cpu
        PAGE.say(
            f"- TruncatedSVD of the same matrix, {dims} dimensions: {cpu:.1f} s of CPU time; "
            f"neighbours, model and embedding take {mapped / cpu:.2f} times that"
        )


def print_growth(runs: dict[int, dict[str, float]]) -> None:
    """Print the processor's seconds of each stage by size, and the exponent that fits them."""
    sizes = list(runs)
    PAGE.say("\n| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |")
    PAGE.say("| :--- |" + " ---: |" * (len(sizes) + 1))
    for name in runs[sizes[-1]]:
        taken = [runs[size].get(name, np.nan) for size in sizes]
        known = np.isfinite(taken)
        logs = np.log(np.array(sizes)[known]), np.log(np.maximum(np.array(taken)[known], 1e-3))
        exponent = np.polyfit(*logs, 1)[0] if known.sum() > 1 else np.nan
        cells = " | ".join(f"{each:,.0f}" if each >= 100 else f"{each:.3g}" for each in taken)
        PAGE.say(f"| {name} | {cells} | {exponent:.2f} |")


def _timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()

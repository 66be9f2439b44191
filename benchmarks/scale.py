"""From nothing to the first answer, on a corpus of any size, beside what others take.

Run `python -m benchmarks.scale [--documents N | --growth 10000,30000,100000] [--no-peers]`.
Everything happens in a throw-away folder; the corpus is that of `scale_corpus.py`. Each verb runs
as a process of its own, as a person would run it. Peers run in the same minutes; only ratios mean
anything. Peers that are not installed (`pip install bm25s tantivy`) are named and left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks.scale_corpus import documents, write_corpus
from benchmarks.scale_peers import peers_of_ingest, scan_of_vectors, truncated_svd
from lpisearch import SearchOptions, open  # noqa: A004 (the name of the front door)

if TYPE_CHECKING:
    from collections.abc import Callable

QUERIES = 100
CLASSIFIED = 200
# A process is measured from a small one: a child begins with the memory of the one that forks it.
LAUNCHER = """
import resource, subprocess, sys, time
begun = time.perf_counter()
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
seconds = time.perf_counter() - begun
print(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss, file=sys.stderr)
sys.exit(code)
"""
# What stands between the weighted matrix and the places of all documents.
MAP_STAGES = ("linking neighbours", "projecting", "placing documents")


class Step(NamedTuple):
    """What one process took."""

    name: str
    seconds: float
    cpu: float
    peak_mb: float
    said: Any


def main() -> None:
    """Measure one size, or several and how the time grows."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--growth", type=lambda text: [int(part) for part in text.split(",")])
    parser.add_argument("--dims", type=int)
    parser.add_argument("--memory")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--folder", type=Path, help="keep everything here")
    arguments = parser.parse_args()
    sizes = arguments.growth or [arguments.documents]
    runs = {}
    for size in sizes:
        with tempfile.TemporaryDirectory() as throw_away:
            folder = arguments.folder or Path(throw_away)
            runs[size] = measure(folder, size, arguments)
    if len(sizes) > 1:
        print_growth(runs)


def measure(folder: Path, size: int, arguments: argparse.Namespace) -> dict[str, float]:
    """Take one corpus through all verbs; return the seconds of each stage."""
    corpus, library = folder / f"corpus{size}.jsonl", folder / f"scale{size}.db"
    if not corpus.exists():
        write_corpus(corpus, size)
    print(f"\n{size:,} documents, {corpus.stat().st_size / 1e6:,.0f} MB of JSON Lines\n")
    print(f"| {'':30} | seconds | processor | peak MB |\n| :{'-' * 29} | ---: | ---: | ---: |")
    index = ["index", *(["--dims", str(arguments.dims)] if arguments.dims else [])]
    index += ["--memory", arguments.memory] if arguments.memory else []
    steps = [run(library, "ingest", str(corpus)), run(library, *index)]
    seconds = {step.name: step.seconds for step in steps}
    for stage, taken in steps[1].said["seconds"].items():
        print(f"|   {stage:28} | {taken:7.2f} | | |")
        seconds[f"index: {stage}"] = taken
    texts = [each["text"] for each in documents(CLASSIFIED, seed=1)]
    batch = folder / "texts.jsonl"
    batch.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    others = [
        run(library, "query", "--", texts[0][:60]),
        run(library, "topics"),
        run(library, "classify", str(batch)),
        run(library, "similar", "0"),
        run(library, "doctor"),
        run(library, "ingest", str(corpus), "--prune"),
        run(library, "docs export", str(folder / "out.jsonl")),
    ]
    seconds |= {step.name: step.seconds for step in others}
    seconds |= answers(library, texts)
    if not arguments.no_peers:
        beside_peers(corpus, library, seconds)
    return seconds


def run(library: Path, *words: str) -> Step:
    """Run a verb as a process of its own and print what it took."""
    verb = words[0].split()
    program = [sys.executable, "-m", "lpisearch", "--db", str(library)]
    command = [sys.executable, "-S", "-c", LAUNCHER, *program, *verb, "--json", *words[1:]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)} failed: {done.stderr}")
    seconds, cpu, peak_kb = map(float, done.stderr.splitlines()[-1].split())
    name = "ingest again, --prune" if "--prune" in words else words[0]
    step = Step(name, seconds, cpu, peak_kb * 1024 / 1e6, json.loads(done.stdout))
    print(f"| {name:30} | {seconds:7.2f} | {cpu:7.2f} | {step.peak_mb:,.0f} |", flush=True)
    return step


def answers(library: Path, texts: list[str]) -> dict[str, float]:
    """Time warm answers in one open library, beside a bare scan of as many vectors."""
    queries = [" ".join(text.split()[:5]) for text in texts[:QUERIES]]
    medians = {}
    with open(library) as opened:
        vectors = np.zeros((opened.status()["documents"], 300), np.float32)
        for by in ("hybrid", "semantic", "lexical"):
            options = SearchOptions(by=by)
            opened.search(queries[0], options=options)
            times = [_timed(lambda: opened.search(each, options=options)) for each in queries]  # noqa: B023
            p50, p95 = np.percentile(times, (50, 95))
            print(f"| warm {by + ', p50':25} | {p50:7.4f} | p95 {p95:.4f} | |")
            medians[f"warm {by}"] = float(p50)
    bare = float(np.median([_timed(lambda: scan_of_vectors(vectors)) for _ in range(20)]))
    print(f"| scan of 300 float32, NumPy     | {bare:7.4f} | | |", flush=True)
    return medians


def beside_peers(corpus: Path, library: Path, seconds: dict[str, float]) -> None:
    """Compare with others that take in the same texts, and with TruncatedSVD of the same matrix."""
    print()
    for name, taken in peers_of_ingest(corpus):
        if taken is None:
            print(f"{name}: not installed")
            continue
        print(f"{name}: {taken:.1f} s; ingest is {seconds['ingest'] / taken:.2f} of it", flush=True)
    dims, taken = truncated_svd(library)
    mapped = sum(seconds.get(f"index: {stage}", 0) for stage in MAP_STAGES)
    print(f"TruncatedSVD, {dims} dimensions: {taken:.1f} s; the map is {mapped / taken:.2f} of it")


def print_growth(runs: dict[int, dict[str, float]]) -> None:
    """Print the seconds of each stage by size, and the exponent that fits them."""
    sizes = list(runs)
    print("\n| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |")
    print("| :--- |" + " ---: |" * (len(sizes) + 1))
    for name in runs[sizes[-1]]:
        taken = [runs[size].get(name, np.nan) for size in sizes]
        exponent = np.polyfit(np.log(sizes), np.log(np.maximum(taken, 1e-3)), 1)[0]
        cells = " | ".join(f"{each:.3g}" for each in taken)
        print(f"| {name} | {cells} | {exponent:.2f} |")


def _timed(work: Callable[[], Any]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()

"""Time and memory of queries and other commands by the size of the library, and their growth.

Run `python -m benchmarks.answers [--sizes 10000,100000,300000] [--folder FOLDER]`. Corpora are
those of `scale_corpus.py`. A library that is in FOLDER already (`libN.db`) is used as it is, else
it is made with 300 dimensions; a size that was measured there is not measured again. Each verb runs
as a process of its own; warm answers are asked of one open library. The table goes into
docs/scale.md between its markers, unless `--print`.

Growth is fitted to processor time, which other work on the machine moves less than the clock.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from benchmarks import peers
from benchmarks.scale_corpus import documents, write_corpus
from lpisearch import SearchOptions, open  # noqa: A004 (the name of the front door)
from lpisearch.index.calibration import calibrate, sample_documents
from lpisearch.model.documents import Filter
from lpisearch.storage import open_store
from tests.indexing import open_index

if TYPE_CHECKING:
    from collections.abc import Callable

PAGE = Path(__file__).parents[1] / "docs" / "scale.md"
BEGIN, END = "<!-- answers: written by benchmarks/answers.py -->", "<!-- end of answers -->"
DIMS = 300
QUERIES = 50
CLASSIFIED = 200
ADDED = 100


class Taken(NamedTuple):
    """What a thing took: seconds, those of the processors, and megabytes at most."""

    seconds: float
    cpu: float
    peak_mb: float | None = None


def main() -> None:
    """Measure every size and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="10000,100000,300000")
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--print", action="store_true", help="leave docs/scale.md as it is")
    parser.add_argument("--warm", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.warm:
        print(json.dumps(warm(arguments.warm)))
        return
    sizes = [int(each) for each in arguments.sizes.split(",")]
    with tempfile.TemporaryDirectory() as throw_away:
        folder = arguments.folder or Path(throw_away)
        found = {size: measured(folder, size) for size in sizes}
    text = table(found)
    print(text)
    if not arguments.print:
        page = PAGE.read_text(encoding="utf-8")
        inside = re.compile(f"{re.escape(BEGIN)}.*{re.escape(END)}", re.DOTALL)
        PAGE.write_text(inside.sub(lambda _: f"{BEGIN}\n{text}\n{END}", page), encoding="utf-8")


def measured(folder: Path, size: int) -> dict[str, Taken]:
    """Measure a size, unless that was done in the folder before."""
    kept = folder / f"answers{size}.json"
    if not kept.exists():
        kept.write_text(json.dumps(measure(folder, size)), encoding="utf-8")
    read = json.loads(kept.read_text(encoding="utf-8"))
    return {name: Taken(*each) for name, each in read.items()}


def measure(folder: Path, size: int) -> dict[str, Taken]:
    """Take a library of a size through everything."""
    library, corpus = folder / f"lib{size}.db", folder / f"corpus{size}.jsonl"
    if not corpus.exists():
        write_corpus(corpus, size)
    if not library.exists():
        verb(library, "ingest", str(corpus))
        verb(library, "index", "--dims", str(DIMS))
    texts = [each["text"] for each in documents(CLASSIFIED, seed=1)]
    batch, more = folder / "texts.jsonl", folder / "more.jsonl"
    _write(batch, [{"text": text} for text in texts])
    _write(more, [{"id": f"new/{at}", "text": text} for at, text in enumerate(texts[:ADDED])])
    query = " ".join(texts[0].split()[:6])
    taken = {"query, cold": verb(library, "query", "--", query)}
    code = [sys.executable, "-m", "benchmarks.answers", "--warm", str(library)]
    asked, of_all = process(code)
    taken |= {name: Taken(*each) for name, each in json.loads(asked).items()}
    taken["all warm answers together"] = of_all
    taken["similar"] = verb(library, "similar", "0")
    if has_classifier(library):
        taken[f"classify, {CLASSIFIED} texts"] = verb(library, "classify", str(batch))
        by_knn = ("classify", str(batch), "--classifier", "knn")
        taken[f"classify by kNN, {CLASSIFIED} texts"] = verb(library, *by_knn)
    taken["topics"] = verb(library, "topics")
    taken["status"] = verb(library, "status")
    taken["docs list -n 20"] = verb(library, "docs", "list", "-n", "20")
    taken["docs export"] = verb(library, "docs", "export", str(folder / "out.jsonl"), "--force")
    taken["doctor"] = verb(library, "doctor")
    taken[f"ingest of {ADDED} more, folded in"] = verb(library, "ingest", str(more))
    _write(more, [{"id": "new/0", "text": texts[0]}])
    taken["ingest again, --prune, folded in"] = verb(library, "ingest", str(more), "--prune")
    return taken


def verb(library: Path, *words: str) -> Taken:
    """Run a verb as a process of its own."""
    program = [sys.executable, "-m", "lpisearch", "--db", str(library)]
    split = 2 if words[0] == "docs" else 1
    _, taken = process([*program, *words[:split], "--json", *words[split:]])
    said = f"{taken.seconds:8.2f} s, {taken.cpu:7.2f} of processor, {taken.peak_mb:7,.0f} MB"
    print(f"{' '.join(words)[:60]:60} {said}", file=sys.stderr, flush=True)
    return taken


def process(command: list[str]) -> tuple[str, Taken]:
    """Run a process; return what it wrote, and what it took."""
    taken = peers.process(command)
    return taken.printed, Taken(taken.seconds, taken.cpu, taken.peak_mb)


def warm(library: Path) -> dict[str, tuple[float, float]]:
    """Return the medians of answers in an open library, and what a calibration takes."""
    texts = [" ".join(each["text"].split()[:5]) for each in documents(QUERIES, seed=2)]
    found = {}
    with open(library) as opened:
        label = next(iter(opened.status()["labels"]))
        quoted = [f'"{" ".join(text.split()[:2])}" {text}' for text in texts]
        wrong = [f"{text} {text.split()[0]}zq" for text in texts]
        asked: dict[str, Callable[[int], Any]] = {
            by: partial(_ask, opened, texts, SearchOptions(by=by))
            for by in ("hybrid", "semantic", "lexical")
        }
        asked["hybrid, in one label"] = partial(
            _ask, opened, texts, SearchOptions(where=Filter(labels=(label,)))
        )
        asked["hybrid, since a date"] = partial(
            _ask, opened, texts, SearchOptions(where=Filter(since="2015"))
        )
        asked["hybrid, with a phrase"] = partial(_ask, opened, quoted, SearchOptions())
        asked["hybrid, a word misspelt"] = partial(_ask, opened, wrong, SearchOptions())
        for name, ask in asked.items():
            ask(0)
            times = [_timed(partial(ask, at)) for at in range(QUERIES)]
            found[f"warm {name}, p50"] = _medians(times)
    found["calibration"] = _timed(partial(_calibrate, library))
    return found


def _ask(opened: Any, texts: list[str], options: SearchOptions, at: int) -> None:
    opened.search(texts[at], options=options)


def _calibrate(library: Path) -> None:
    index = open_index(library)
    places = sample_documents(index.postings.document_lengths, 0)
    with open_store(library) as store, store.reading() as snapshot:
        tokens = snapshot.documents.tokens(index.document_rows[places].tolist())
    calibrate(index, places, tokens, 0)


def _timed(work: Callable[[], Any]) -> tuple[float, float]:
    begun, used = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - begun, time.process_time() - used


def _medians(times: list[tuple[float, float]]) -> tuple[float, float]:
    seconds, cpu = np.median(np.array(times), axis=0).tolist()
    return seconds, cpu


def has_classifier(library: Path) -> bool:
    """Return whether the index has learned labels."""
    facts = open_index(library).manifest.result.classifier
    return facts is not None and "reason" not in facts


def table(found: dict[int, dict[str, Taken]]) -> str:
    """Return what was measured: processor seconds and peak by size, and the fitted exponents."""
    sizes = list(found)
    lines = [
        "| | " + " | ".join(f"{size:,}" for size in sizes) + " | exponent |",
        "|---|" + "---:|" * (len(sizes) + 1),
    ]
    for name in dict.fromkeys(each for one in found.values() for each in one):
        measured = {size: found[size][name] for size in sizes if name in found[size]}
        cells = [_cell(measured.get(size)) for size in sizes]
        lines.append(f"| {name} | {' | '.join(cells)} | {_exponent(measured)} |")
    return "\n".join(lines)


def _cell(taken: Taken | None) -> str:
    if taken is None:
        return ""
    peak = f", {taken.peak_mb:,.0f} MB" if taken.peak_mb else ""
    return f"{taken.cpu:.3f} s{peak}" if taken.cpu < 1 else f"{taken.cpu:.1f} s{peak}"


def _exponent(measured: dict[int, Taken]) -> str:
    if len(measured) < 2:
        return ""
    taken = [max(each.cpu, 1e-4) for each in measured.values()]
    return f"{np.polyfit(np.log(list(measured)), np.log(taken), 1)[0]:.2f}"


def _write(path: Path, records: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(each) + "\n" for each in records), encoding="utf-8")


if __name__ == "__main__":
    main()

"""Time, memory and disk of the program beside what would be used instead, in one run.

Run `python benchmarks/beside.py [--documents 19000 64000 300000]`: 20 Newsgroups, the descriptions
of Debian's packages, or a corpus of `scale_corpus.py`. The peers are SQLite FTS5, tantivy, bm25s,
gensim and scikit-learn, in an environment of their own, which the first run makes in `build/peers`
and pip fills. What is compared runs in turn: programs as processes of their own, the least of
several rounds; questions in processes that stay open, each asked of all in turn, the median. Every
time is that of the processor, with one thread. The table is Markdown.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import peers
from benchmarks.peers import ROOT, answer, peer_command, records, texts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.peers import Ask, Taken

DATA = ROOT.parent / "shared" / "data"
COLLECTIONS = {19_000: "20newsgroups", 64_000: "debian-packages", 300_000: ""}
OURS = "lpisearch"
ROUNDS, QUESTIONS, FILES, ADDED = 3, 100, 20_000, 100
LEAST = "import numpy, sqlalchemy.orm, typer, rich"


def main() -> None:
    """Measure everything and print a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--documents", type=int, choices=COLLECTIONS, nargs="+", default=[19_000])
    parser.add_argument("--folder", type=Path, help="keep everything here, and use what is there")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.work:
        role, _, library = arguments.work
        work(role, Path(library))
        return
    titles: list[str] = []
    table: dict[str, list[str]] = {}
    for documents in arguments.documents:
        with tempfile.TemporaryDirectory() as throw_away:
            folder = (arguments.folder or Path(throw_away)).resolve() / str(documents)
            folder.mkdir(parents=True, exist_ok=True)
            corpus = write_corpus(folder, documents)
            bench = Bench(folder, corpus)
            for each in (bench.builds(), bench.questions(), bench.starts(), bench.changes()):
                for title, ours, _, ratio in each:
                    table.setdefault(title, []).extend([ours, ratio])
            size = sum(map(len, map(str.encode, texts(corpus))))
            number = sum(1 for _ in records(corpus))
        titles += [f"{number:,} documents, {size / 1e6:.0f} MB", "÷"]
    print(f"\n| | {' | '.join(titles)} |\n|---|{'---:|' * len(titles)}")
    for title, cells in table.items():
        print(f"| {title} | {' | '.join(cells)} |")


def write_corpus(folder: Path, documents: int) -> Path:
    """Write the corpus as JSON Lines, unless it is there."""
    corpus = folder / "corpus.jsonl"
    if not corpus.exists():
        name = COLLECTIONS[documents]
        if not name:
            from benchmarks import scale_corpus

            scale_corpus.write_corpus(corpus, documents)
            return corpus
        packed = DATA / name / "docs.jsonl.gz"
        if not packed.exists():
            sys.exit(f"This benchmark needs {packed}.")
        with gzip.open(packed) as source, corpus.open("wb") as target:
            shutil.copyfileobj(source, target)
    return corpus


def questions(corpus: Path) -> list[str]:
    """Return a few words in a row from documents all over the corpus."""
    every = list(texts(corpus))
    found = []
    for at in range(QUESTIONS):
        words = [word for word in every[at * len(every) // QUESTIONS].split() if word.isalpha()]
        found.append(" ".join(words[len(words) // 2 :][: 3 + at % 6]) or "space")
    return found


class Bench:
    """The program and its peers, each with a folder for what it writes."""

    def __init__(self, folder: Path, corpus: Path) -> None:
        self.folder, self.corpus = folder, corpus
        self.library = folder / "library.db"
        self.peers = peers.peers_python()
        program = Path(sys.executable).with_name(OURS)
        self.ours = [str(program), "--db", str(self.library)]

    def role(self, name: str, *more: object) -> list[str]:
        """Return the command that runs a role in its own process, in a new folder."""
        own = self.folder / name
        shutil.rmtree(own, ignore_errors=True)
        own.mkdir()
        return [*self._worker(name), str(self.corpus), str(own), *map(str, more)]

    def _worker(self, name: str) -> list[str]:
        if name.startswith(OURS):
            return [sys.executable, __file__, "--work", name]
        return peer_command(name)

    def builds(self) -> Iterator[list[str]]:
        """Compare ingest and index: time, memory and disk."""
        ingest = [*self.ours, "ingest", str(self.corpus), "--no-index", "--json"]
        bare, taken = [], []
        for _ in range(ROUNDS):
            self._remove_library()
            bare.append(process(self.role("fts5")))
            taken.append(process(ingest))
        ours, fts5 = min(taken), min(bare)
        yield row("ingest / bare FTS5, porter", ours.cpu, fts5.cpu)
        yield [*row("memory of an ingest, MB", ours.peak_mb, fts5.peak_mb, "{:,.0f}")]
        peers = {name: process(self.role(name)) for name in ("tantivy", "bm25s") if self.peers}
        for name, each in peers.items():
            yield row(f"ingest / {name}", ours.cpu, each.cpu)
        index = process([*self.ours, "index", "--json"])
        built = json.loads(index.printed)
        both = ours.cpu + index.cpu
        for name, title in (("gensim", "gensim LSI"), ("sklearn", "scikit-learn TF-IDF and SVD")):
            if self.peers:
                taken_by = process(self.role(name, built["dims"]))
                yield row(f"ingest and index / {title}", both, taken_by.cpu)
        stages = built["processor_seconds"]
        learning = stages.get("training classifiers", 0)
        svd = process([*self._worker(f"{OURS} svd"), str(self.corpus), str(self.library)])
        mapped = sum(stages[name] for name in ("finding neighbours", "projecting"))
        yield row("RLPI / TruncatedSVD of as many dimensions", mapped, float(svd.printed))
        yield row("learning labels / the rest of the index", learning, index.cpu - learning)
        yield ["memory of an index, MB", f"{index.peak_mb:,.0f}", "", ""]
        yield from self._disk()

    def _disk(self) -> Iterator[list[str]]:
        text = sum(map(len, map(str.encode, texts(self.corpus))))
        library = self.library.stat().st_size + size_of(self.library.with_suffix(".index"))
        for name in ("fts5", "tantivy", "bm25s"):
            if size := size_of(self.folder / name):
                yield row(f"disk ÷ text / {name}", library / text, size / text, "{:.1f}")

    def questions(self) -> Iterator[list[str]]:
        """Compare warm questions, with ten results shown."""
        names = ["hybrid", "lexical", "semantic", "explain", "1000", "collapse", "page"]
        peers = ["fts5", *(("tantivy", "bm25s") if self.peers else ())]
        workers = {
            name: Worker([*self._worker(f"{OURS} {name}"), str(self.corpus), str(self.library)])
            for name in names
        }
        workers |= {
            name: Worker([*self._worker(name), str(self.corpus), str(self.folder / name)])
            for name in peers
        }
        times: dict[str, list[float]] = {name: [] for name in workers}
        few = {"1000", "collapse", "page", "explain"}
        for at, question in enumerate(questions(self.corpus)):
            for name, worker in workers.items():
                if name not in few or at < QUESTIONS // 5:
                    times[name].append(worker.ask(question))
        for worker in workers.values():
            worker.close()
        median = {name: 1e3 * statistics.median(each) for name, each in times.items()}
        for name in ("hybrid", "lexical"):
            for peer in peers:
                title = f"warm {name}, p50, ms / {peer} with snippets"
                yield row(
                    title.replace("bm25s with snippets", "bm25s, numbers alone"),
                    median[name],
                    median[peer],
                    "{:.2f}",
                )
        for name, title in (
            ("semantic", "warm semantic"),
            ("explain", "`--explain`, ten results"),
            ("1000", "1,000 results"),
            ("collapse", "`--collapse`, offset 10,000"),
            ("page", "HTML page, one client"),
        ):
            yield [f"{title}, p50, ms", f"{median[name]:.1f}", "", ""]

    def starts(self) -> Iterator[list[str]]:
        """Compare processes from start to end with what they must import."""
        query = [*self.ours, "search", "space shuttle orbit", "--json"]
        commands = {
            "query": query,
            "version": [self.ours[0], "--version"],
            "help": [self.ours[0], "--help"],
            "least": [sys.executable, "-c", LEAST],
            "pass": [sys.executable, "-c", "pass"],
        }
        best: dict[str, Taken] = {}
        process(query)  # compares checksums once
        for _ in range(3 * ROUNDS):
            for name, command in commands.items():
                taken = process(command)
                best[name] = min(best.get(name, taken), taken)
        yield row(f"a shell query / `{LEAST}`", best["query"].cpu, best["least"].cpu, "{:.3f}")
        memory = best["query"].peak_mb, best["least"].peak_mb
        yield row("memory of a shell query, MB / the imports", *memory, "{:,.0f}")
        for name in ("version", "help"):
            title = f"`--{name}` / `python -c pass`"
            yield row(title, best[name].cpu, best["pass"].cpu, "{:.3f}")

    def changes(self) -> Iterator[list[str]]:
        """Ingest what did not change, and some documents into a library with an index."""
        files = self.folder / "files"
        for number in range(FILES):
            path = files / f"{number // 1000:02}" / f"{number}.txt"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"Note {number}\n\nA short note about number {number}.\n")
        ours = [self.ours[0], "--db", str(self.folder / "files.db"), "ingest", str(files)]
        walk = [sys.executable, "-c", WALK, str(files)]
        process([*ours, "--no-index"])
        again, bare = zip(
            *((process([*ours, "--no-index"]), process(walk)) for _ in range(ROUNDS)), strict=True
        )
        title = f"nothing changed, {FILES:,} files / walk and stat"
        yield row(title, min(again).cpu, min(bare).cpu)
        more = self.folder / "more.jsonl"
        some = [each | {"id": f"new/{each['id']}"} for each in list(records(self.corpus))[:ADDED]]
        more.write_text("".join(json.dumps(each) + "\n" for each in some), encoding="utf-8")
        taken = process([*self.ours, "ingest", str(more), "--json"])
        memory = f"{taken.peak_mb:,.0f} MB"
        yield [f"{ADDED} documents more, indexed, s", f"{taken.cpu:.2f}, {memory}", "", ""]

    def _remove_library(self) -> None:
        for path in self.folder.glob("library.*"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


WALK = """
import os, sys
for root, _, names in os.walk(sys.argv[1]):
    for name in names:
        os.stat(os.path.join(root, name))
"""


def row(title: str, ours: float, other: float, form: str = "{:.2f}") -> list[str]:
    """Return a row of the table: two numbers and their ratio."""
    cells = [title, form.format(ours), form.format(other), f"{ours / max(other, 1e-9):.2f}"]
    print(" · ".join(cells), file=sys.stderr, flush=True)
    return cells


def size_of(folder: Path) -> int:
    """Return the bytes of the files below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def environment() -> dict[str, str]:
    """Return the environment of what is measured: one thread, and compiled modules are kept."""
    left_out = {"PYTHONDONTWRITEBYTECODE"}
    threads = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL")}
    kept = {name: value for name, value in os.environ.items() if name not in left_out}
    return kept | threads | {"PYTHONPATH": str(ROOT)}


def process(command: list[str]) -> Taken:
    """Run a program with one thread; return what it took."""
    return peers.process(command, environment())


class Worker:
    """A process that answers questions and says how long each took."""

    def __init__(self, command: list[str]) -> None:
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self._process = subprocess.Popen([*command], **pipes, text=True, env=environment())
        self.ask("space")

    def ask(self, question: str) -> float:
        """Return the processor's seconds of an answer."""
        print(question, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline())  # type: ignore[union-attr]

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


def work(role: str, library: Path) -> None:
    """Be one of our own processes."""
    way = role.removeprefix(f"{OURS} ")
    if way == "svd":
        from tests.indexing import open_index

        print(truncated_svd(library, len(open_index(library).scales)))
    else:
        with ExitStack() as stack:
            answer(our_answers(way, library, stack))


def our_answers(way: str, library: Path, stack: ExitStack) -> Ask:
    """Return what answers in an open library."""
    import lpisearch

    opened = lpisearch.open(library)
    options: dict[str, dict[str, Any]] = {
        "explain": {"explain": True},
        "1000": {"k": 1000},
        "collapse": {"collapse": True, "offset": 10_000},
    }
    if way == "page":
        from starlette.testclient import TestClient

        from lpisearch.web.server import create_app

        app = TestClient(create_app(opened), base_url="http://localhost")
        client = stack.enter_context(app)  # else each request would start a thread
        return lambda text: client.get("/", params={"q": text}).raise_for_status()
    return lambda text: opened.search(text, **options.get(way, {"by": way}))


def truncated_svd(library: Path, dims: int) -> float:
    """Return the time of scikit-learn's SVD of the matrix of a library."""
    from sklearn.decomposition import TruncatedSVD

    from lpisearch.model.documents import Filter
    from lpisearch.storage import open_store
    from lpisearch.text.vocabulary import Weighting, normalise_rows
    from tests.indexing import build_counts

    with open_store(library) as store, store.reading() as transaction:
        _, counts = build_counts(shard.tokens for shard in transaction.corpus.shards(Filter()))
    X = normalise_rows(Weighting.fit(counts.matrix).apply(counts.matrix))
    begun = time.process_time()
    TruncatedSVD(dims, random_state=0).fit_transform(X)
    return time.process_time() - begun


if __name__ == "__main__":
    main()

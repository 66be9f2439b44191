"""Peers of the program, each a process: SQLite FTS5, tantivy, bm25s, gensim, scikit-learn.

`python benchmarks/peers.py NAME CORPUS FOLDER [DIMENSIONS]` builds what is not in the folder yet,
or answers the questions on standard input, each with the seconds of the processor that it took. But
for FTS5, the peers are in an environment of their own, `build/peers`, which is made when it is
first asked for.
"""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Ask = Callable[[str], object]

ROOT = Path(__file__).parents[1]
PACKAGES = ("tantivy", "bm25s", "gensim", "scikit-learn")
DIMS = 150
# A process is measured from a small one: a child begins with the memory of the one that forks it.
LAUNCHER = """
import json, resource, subprocess, sys, time
begun = time.perf_counter()
code = subprocess.call(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_CHILDREN)
peak, seconds = used.ru_maxrss * 1024 / 1e6, time.perf_counter() - begun
print(json.dumps([used.ru_utime + used.ru_stime, peak, seconds]), file=sys.stderr)
sys.exit(code)
"""


class Taken(NamedTuple):
    """Seconds of the processor, megabytes of memory, seconds of the clock, what was printed."""

    cpu: float
    peak_mb: float
    seconds: float
    printed: str


def process(command: list[str], environment: dict[str, str] | None = None) -> Taken:
    """Run a program; return what it took."""
    done = subprocess.run(
        [sys.executable, "-S", "-c", LAUNCHER, *command],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)} failed:\n{done.stderr}")
    cpu, peak_mb, seconds = json.loads(done.stderr.splitlines()[-1])
    return Taken(cpu, peak_mb, seconds, done.stdout)


def peer_command(name: str) -> list[str]:
    """Return the command that runs a peer, without its corpus and folder."""
    python = sys.executable if name == "fts5" else peers_python() or sys.executable
    return [str(python), __file__, name]


def records(corpus: Path) -> Iterator[dict[str, Any]]:
    """Yield the documents."""
    with corpus.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def texts(corpus: Path) -> Iterator[str]:
    """Yield title and text of each document."""
    return (f"{each['title']} {each['text']}" for each in records(corpus))


def peers_python() -> Path | None:
    """Return Python with the peers installed, made by the first run; None if pip cannot."""
    folder = ROOT / "build" / "peers"
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        install = [str(python), "-m", "pip", "install", "--quiet", *PACKAGES]
        if subprocess.run(install, check=False).returncode:
            print("without tantivy, bm25s, gensim, scikit-learn: pip failed", file=sys.stderr)
            return None
        (folder / "complete").touch()
    return python


def answer(ask: Ask) -> None:
    """Answer questions from standard input, each with the time that it took."""
    for line in sys.stdin:
        begun = time.process_time()
        ask(line.strip())
        print(time.process_time() - begun, flush=True)


def build_fts5(corpus: Path, folder: Path) -> None:
    """Insert the texts as simply as SQLite allows."""
    with closing(sqlite3.connect(folder / "bare.db")) as connection:
        connection.execute("CREATE VIRTUAL TABLE t USING fts5(title, text, tokenize='porter')")
        rows = ((each["title"], each["text"]) for each in records(corpus))
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
        connection.commit()


def ask_fts5(folder: Path) -> Ask:
    """Answer with the ten best by BM25 and their snippets."""
    connection = sqlite3.connect(folder / "bare.db")
    statement = (
        "SELECT title, snippet(t, 1, '[', ']', '…', 30) FROM t WHERE t MATCH ? "
        "ORDER BY rank LIMIT 10"
    )

    def ask(text: str) -> object:
        words = " OR ".join(f'"{word}"' for word in text.split())
        return connection.execute(statement, (words,)).fetchall()

    return ask


def build_tantivy(corpus: Path, folder: Path) -> None:
    """Index the texts with English stems, and store them."""
    import tantivy

    schema = tantivy.SchemaBuilder()
    for field in ("title", "text"):
        schema.add_text_field(field, stored=True, tokenizer_name="en_stem")
    writer = tantivy.Index(schema.build(), path=str(folder)).writer(256_000_000, 1)
    for each in records(corpus):
        writer.add_document(tantivy.Document(title=each["title"], text=each["text"]))
    writer.commit()
    writer.wait_merging_threads()


def ask_tantivy(folder: Path) -> Ask:
    """Answer with the ten best by BM25 and their snippets."""
    import tantivy

    index = tantivy.Index.open(str(folder))
    searcher = index.searcher()

    def ask(text: str) -> object:
        query = index.parse_query(text, ["title", "text"])
        shown = tantivy.SnippetGenerator.create(searcher, query, index.schema, "text")
        hits = searcher.search(query, 10).hits
        return [shown.snippet_from_doc(searcher.doc(address)).to_html() for _, address in hits]

    return ask


def build_bm25s(corpus: Path, folder: Path) -> None:
    """Index the texts as its documentation shows."""
    import bm25s

    ranker = bm25s.BM25()
    ranker.index(bm25s.tokenize(list(texts(corpus)), show_progress=False), show_progress=False)
    ranker.save(str(folder))


def ask_bm25s(folder: Path) -> Ask:
    """Answer with the numbers of the ten best; it has no snippets."""
    import bm25s

    ranker = bm25s.BM25.load(str(folder))

    def ask(text: str) -> object:
        words = bm25s.tokenize(text, show_progress=False)
        return ranker.retrieve(words, k=10, show_progress=False)

    return ask


def build_gensim(corpus: Path, folder: Path, dims: int = DIMS) -> None:
    """Tokenise, weigh and project as its tutorial does."""
    from gensim import corpora, models, utils

    words = [utils.simple_preprocess(text) for text in texts(corpus)]
    dictionary = corpora.Dictionary(words)
    dictionary.filter_extremes(no_below=2, no_above=0.5, keep_n=None)
    counts = [dictionary.doc2bow(each) for each in words]
    weighted = models.TfidfModel(counts)[counts]
    models.LsiModel(weighted, id2word=dictionary, num_topics=dims).save(str(folder / "lsi"))


def build_sklearn(corpus: Path, folder: Path, dims: int = DIMS) -> None:
    """Weigh and project as its documentation does."""
    import numpy as np
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    X = TfidfVectorizer(stop_words="english", min_df=2, max_df=0.5, sublinear_tf=True)
    vectors = TruncatedSVD(dims, random_state=0).fit_transform(X.fit_transform(texts(corpus)))
    np.save(folder / "vectors.npy", vectors)


BUILDS: dict[str, Callable[..., None]] = {
    "fts5": build_fts5,
    "tantivy": build_tantivy,
    "bm25s": build_bm25s,
    "gensim": build_gensim,
    "sklearn": build_sklearn,
}
ANSWERS: dict[str, Callable[[Path], Ask]] = {
    "fts5": ask_fts5,
    "tantivy": ask_tantivy,
    "bm25s": ask_bm25s,
}


def main() -> None:
    """Build, or answer."""
    name, corpus, folder = sys.argv[1], *map(Path, sys.argv[2:4])
    if any(folder.iterdir()):
        answer(ANSWERS[name](folder))
    else:
        BUILDS[name](corpus, folder, *map(int, sys.argv[4:]))


if __name__ == "__main__":
    main()

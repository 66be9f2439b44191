"""Six languages in one library: average precision next to that of a library of each.

Run `python -m benchmarks.languages [QUERIES]`; LPISEARCH_DATA names the folder of collections. The
xquad sets have the same 240 paragraphs and 1,190 questions in each language (the first QUERIES are
put). In the library of all, a right paragraph is in the language of the question alone, so a
translation that comes first is an error.
"""

from __future__ import annotations

import gzip
import json
import sys
import tempfile
from pathlib import Path

from benchmarks.retrieval import DATA, judged_of, mean_precision, questions_of
from lpisearch.index.build import build_index
from lpisearch.ingest.ingestion import run_ingest
from lpisearch.options import IndexOptions, IngestOptions, SearchOptions
from lpisearch.search.batch import answer_batch
from lpisearch.search.session import Session

LANGUAGES = ("en", "de", "es", "tr", "ar", "zh")
WAYS = ("lexical", "hybrid")


def main() -> None:
    """Print the table."""
    queries = int(sys.argv[1]) if len(sys.argv) > 1 else None
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        mixed = _library(folder, LANGUAGES)
        print(f"{'':6}" + "".join(f"{by}, own  {by}, all     " for by in WAYS))
        for language in LANGUAGES:
            own = _library(folder, (language,))
            pairs = [(_precision(own, language, by, queries),
                      _precision(mixed, language, by, queries)) for by in WAYS]  # fmt: skip
            cells = (f"{alone:12.4f} {among:12.4f}" for alone, among in pairs)
            print(f"{language:6}" + "  ".join(cells), flush=True)


def _library(folder: Path, languages: tuple[str, ...]) -> Path:
    """Make a library of the paragraphs in some languages."""
    source = folder / f"{'-'.join(languages)}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        for language in languages:
            packed = DATA / f"xquad-{language}" / "docs.jsonl.gz"
            with gzip.open(packed, "rt", encoding="utf-8") as lines:
                for record in map(json.loads, lines):
                    file.write(json.dumps(record | {"id": f"{language}-{record['id']}"}) + "\n")
    library = source.with_suffix(".db")
    run_ingest(library, [str(source)], IngestOptions())
    build_index(library, IndexOptions())
    return library


def _precision(library: Path, language: str, by: str, most: int | None) -> float:
    """Return the mean average precision of the questions in a language."""
    judged = {
        query: {f"{language}-{document}": grade for document, grade in grades.items()}
        for query, grades in list(judged_of(f"xquad-{language}").items())[:most]
    }
    queries = [pair for pair in questions_of(f"xquad-{language}") if pair[0] in judged]
    with Session(library) as session:
        runs = answer_batch(session, queries, SearchOptions(by=by, k=1_000_000))
        return mean_precision(dict(runs), judged)


if __name__ == "__main__":
    main()

"""Write docs/results.md: the output of `lpisearch evaluate` for public collections.

Run: make results  (python benchmarks/results.py [--data ../shared/data] [SECTION …])

Every table is the output of the command above it. Libraries and finished sections are kept in the
folder --work, so that the page can be made in several runs. Times on a shared machine mean little.
"""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import gettempdir

import numpy as np
from scipy import sparse

PAGE = Path(__file__).parents[1] / "docs" / "results.md"
FIGURES = PAGE.parent / "figures"
TDT2 = "tdt2/tdt2.npz"
TITLE = """# Results

Output of `lpisearch evaluate` for public collections, with defaults. Written by `make results`:
each table is the output of the command above it, where `DATA` is the folder of the collections
(one file `docs.jsonl.gz` each, as `lpisearch ingest` reads it). Description of the measures:
[evaluation.md](evaluation.md). The papers' own protocols: [papers](papers/README.md).
"""


@dataclass(frozen=True)
class Section:
    """Commands under a heading, with a text before the tables."""

    name: str
    title: str
    text: str
    commands: tuple[tuple[str, str], ...]


SECTIONS = (
    Section(
        "retrieval",
        "Ad-hoc retrieval",
        "After `lpisearch ingest DATA/NAME/docs.jsonl.gz` and `lpisearch index`. One setting for\n"
        "all collections; see [ranking.md](ranking.md).",
        tuple(
            (
                name,
                (
                    f"evaluate retrieval --queries DATA/{name}/queries.jsonl.gz"
                    f" --qrels DATA/{name}/qrels.tsv"
                ),
            )
            for name in ("med", "cranfield", "cisi")
        ),
    ),
    Section(
        "by-date",
        "Classification: 20 Newsgroups, by date",
        "Headers are kept. Training uses only the 11,314 earlier messages.",
        (("20newsgroups", "evaluate classify --split field"),),
    ),
    Section(
        "shares",
        "Classification: 20 Newsgroups, by training share",
        "Ten draws of each share. The α of RLPI is chosen by cross-validation on the training\n"
        "documents; the second table is with α = 1.",
        (
            ("20newsgroups", "evaluate classify --train 5%,10%,20%,50% --methods terms,rlpi"),
            (
                "20newsgroups",
                (
                    "evaluate classify --train 5%,10%,20%,50% --methods rlpi --alpha 1"
                    " --classifiers centroid,knn"
                ),
            ),
        ),
    ),
    Section(
        "reuters",
        "Classification: Reuters-21578",
        "Documents with exactly one topic, the 30 largest topics, by the split of the collection.\n"
        "With labels, `lpi` and `olpi` place every training document with its class in all of the\n"
        "space of the documents, and lose what holds for others: the second table has the 300\n"
        "leading dimensions, `rlpi` has a penalty.",
        (
            ("reuters21578", "evaluate classify --split field --largest 30"),
            (
                "reuters21578",
                (
                    "evaluate classify --split field --largest 30 --methods lpi,olpi"
                    " --set svd_components=300"
                ),
            ),
        ),
    ),
    Section(
        "clusters",
        "Clustering: TDT2",
        "The term counts that the papers used, 30 classes at once. Draws of two to ten classes:\n"
        "[papers](papers/README.md).",
        ((TDT2, f"evaluate cluster --matrix DATA/{TDT2} --neighbours 7"),),
    ),
    Section(
        "similarity",
        "Similarity: TDT2, by dimensions",
        "Figure 2 of olpi-2005: mean average precision over pairs, over 30 subsets of the 20\n"
        "largest classes, each the documents that hold one term. The 30 terms are drawn at random\n"
        "among those with 250 to 800 documents. LPI falls below the plain terms after few\n"
        "dimensions, OLPI stays above them and above LSI.\n\n"
        "![AP by dimensions](figures/similarity-ap-by-dims.svg)",
        (
            (
                TDT2,
                (
                    f"evaluate sweep similarity --matrix DATA/{TDT2} --largest 20 --words WORDS"
                    " --methods terms,lsi,lpi,olpi --values 2,5,10,20,30,50,70,100 --neighbours 7"
                    " --scale 0 --report REPORT"
                ),
            ),
        ),
    ),
)


def main() -> None:
    """Run the sections that are named, or all, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--work", type=Path, default=Path(gettempdir()) / "lpisearch-results")
    parser.add_argument("sections", nargs="*", metavar="SECTION")
    options = parser.parse_args()
    if not options.data.is_dir():
        sys.exit(f"No collections at {options.data}. Next: name their folder with --data.")
    kept: Path = options.work
    kept.mkdir(parents=True, exist_ok=True)
    for section in SECTIONS:
        if not options.sections or section.name in options.sections:
            text = "\n".join(_block(section, options.data.resolve(), kept))
            (kept / f"{section.name}.md").write_text(text, encoding="utf-8")
            print(text, flush=True)
    missing = [each.name for each in SECTIONS if not (kept / f"{each.name}.md").exists()]
    if missing:
        sys.exit(f"The page is not written: {', '.join(missing)} did not run yet.")
    parts = [(kept / f"{each.name}.md").read_text(encoding="utf-8") for each in SECTIONS]
    PAGE.write_text("\n".join([TITLE, *parts]), encoding="utf-8")


def _commit() -> str:
    """Return the last commit that changed the package."""
    words = ["git", "log", "-1", "--format=commit %h (%cs)", "--", "lpisearch"]
    found = subprocess.run(words, cwd=PAGE.parents[1], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "an unknown commit"


def _block(section: Section, data: Path, kept: Path) -> list[str]:
    lines = [f"## {section.title}", "", section.text, "", f"Measured on {_commit()}.", ""]
    for collection, command in section.commands:
        library = kept / f"{Path(collection).parts[0]}.db"
        if collection != TDT2:
            _prepare(library, data / collection / "docs.jsonl.gz")
        lines += [f"```sh\nlpisearch {command}\n```", ""]
        words = _filled(command, data, kept)
        lines += [_tables(_run(library, [*words, "--markdown"])), ""]
        if "REPORT" in command:
            _keep_figure(kept / "report")
    return lines


def _prepare(library: Path, documents: Path) -> None:
    if not library.exists():
        _run(library, ["ingest", str(documents)])
        _run(library, ["index"])


def _filled(command: str, data: Path, kept: Path) -> list[str]:
    if "WORDS" in command:
        command = command.replace("WORDS", _random_terms(data / TDT2))
    command = command.replace("DATA", shlex.quote(str(data)))
    return shlex.split(command.replace("REPORT", shlex.quote(str(kept / "report"))))


def _random_terms(path: Path, count: int = 30) -> str:
    """Draw columns of terms that 250 to 800 documents of the 20 largest classes hold."""
    with np.load(path, allow_pickle=False) as stored:
        parts = (stored["data"], stored["indices"], stored["indptr"])
        counts = sparse.csr_array(parts, shape=tuple(stored["shape"]))
        labels = stored["label"]
    largest = np.argsort(-np.bincount(labels))[:20]
    held = np.diff(counts[np.flatnonzero(np.isin(labels, largest))].tocsc().indptr)
    fitting = np.flatnonzero((held >= 250) & (held <= 800))
    return ",".join(map(str, np.random.default_rng(0).choice(fitting, count, replace=False)))


def _run(library: Path, words: list[str]) -> str:
    command = [sys.executable, "-m", "lpisearch", "--db", str(library), *words]
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ.copy()
    )
    return done.stdout


def _tables(markdown: str) -> str:
    """Set headings below those of the page."""
    return markdown.strip().replace("## ", "### ")


def _keep_figure(folder: Path) -> None:
    FIGURES.mkdir(exist_ok=True)
    for picture in folder.glob("similarity-ap*.svg"):
        (FIGURES / picture.name).write_bytes(picture.read_bytes())


if __name__ == "__main__":
    main()

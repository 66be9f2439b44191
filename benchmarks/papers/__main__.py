"""Reproduce the tables of the papers: `python -m benchmarks.papers [TABLE …] [--full]`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from dataclasses import replace
from itertools import chain
from math import inf
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, NamedTuple

from benchmarks.papers.catalogue import PAPERS, chosen
from benchmarks.papers.datasets import DATA
from benchmarks.papers.draws import kept_draws, known_of, read_draws
from benchmarks.papers.freshness import commits, recomputed, stale
from benchmarks.papers.pages import behind_page, write_overview, write_table
from benchmarks.papers.protocol import Extent, run
from benchmarks.papers.tables import FORMS
from lpisearch.evaluation.cells import Cells, resumable_cells
from lpisearch.messages import pace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

FOLDER = Path(__file__).parents[2] / "docs" / "papers"
JOBS = 2


def main(words: list[str] | None = None) -> int:
    """Run what is asked for, and write the pages."""
    options = _parser().parse_args(words)
    if options.list:
        for paper in PAPERS:
            print("\n".join(f"{table.name:20} {table.title}" for table in paper.tables))
        return 0
    if options.stale:
        print("\n".join(stale(options.into)))
        return 0
    names = chosen(options.tables)
    if options.check:
        return check(names, options.into)
    if not DATA.is_dir():
        print(f"The public collections are not there: {DATA}", file=sys.stderr)
        return 1
    began = time.perf_counter()
    some = options.known or options.only or options.minutes is not None
    options.keep = options.keep or bool(some)
    signature = {"papers": names, "form": options.form, "keep": options.keep}
    earlier = signal.signal(signal.SIGTERM, _interrupt)
    try:
        with resumable_cells(signature, _progress_line()) as cells:
            asked = Asked(names, options.form, not options.keep)
            until = inf if options.minutes is None else time.monotonic() + 60 * options.minutes
            extent = Extent(0 if options.known else options.jobs, options.only, until)
            reproduce(asked, options.into, cells, extent)
    except KeyboardInterrupt:
        print(
            "\nInterrupted. What was measured is kept. The same command goes on from here; with "
            "--known it writes the pages.",
            file=sys.stderr,
        )
        return 130
    finally:
        signal.signal(signal.SIGTERM, earlier)
    print(f"\n{options.into} in {time.perf_counter() - began:.0f} s", file=sys.stderr)
    return 0


class Asked(NamedTuple):
    """Tables by name, in a form; `anew` ignores the draws stored next to the pages."""

    names: Sequence[str]
    form: str
    anew: bool = False


def reproduce(asked: Asked, folder: Path, cells: Cells, extent: Extent) -> None:
    """Measure what is not known yet, and write the pages of some tables."""
    tables = [(paper, table) for paper in PAPERS for table in paper.tables
              if table.name in asked.names]  # fmt: skip
    parts = {table.name: table.parts(asked.form) for _, table in tables}
    every = list(chain.from_iterable(parts.values()))
    draws = {} if asked.anew else read_draws(folder, (part.data for part in every))
    with kept_draws(folder) as keeper:
        results = run(every, cells, extent, draws, keeper.add)
    for paper, table in tables:
        found = table.findings(asked.form, results)
        wanted = dict.fromkeys(part for part in parts[table.name] if part.method.is_known)
        left = sum(part not in results for part in wanted)
        own = commits((part.method.name, results[part]) for part in wanted if part in results)
        found = replace(found.with_left(left, len(wanted)), commits=own)
        if not asked.anew and behind_page(folder, table, asked.form, len(wanted)) > found.measured:
            print(f"{table.name}: its page rests on more draws than are kept, and stays as it is.",
                  file=sys.stderr)  # fmt: skip
            continue
        write_table(folder, paper, table, asked.form, found)
    write_overview(folder, PAPERS)


def check(names: Sequence[str], folder: Path) -> int:
    """Recompute every printed mean of some tables from the stored draws; 1 if one differs."""
    differs = False
    for table in (each for paper in PAPERS for each in paper.tables if each.name in names):
        page = folder / f"{table.name}.json"
        if not page.exists():
            continue
        form = json.loads(page.read_text(encoding="utf-8"))["parameters"]["form"]
        form = form if form in FORMS else FORMS[0]
        parts = table.parts(form)
        known = known_of(parts, read_draws(folder, (part.data for part in parts)))
        found = replace(table.findings(form, known), measured=len(known))
        same, different, lost = recomputed(page, found)
        print(f"{table.name}: {same} rows recomputed, {lost} without all of their draws")
        print(*(f"  {line}" for line in different), sep="\n", end="\n" if different else "")
        differs = differs or bool(different)
    return int(differs)


def _interrupt(_signal: int, _frame: object) -> None:
    """End as by Ctrl-C: what was measured is written down."""
    raise KeyboardInterrupt


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.papers", description=__doc__.split("\n")[0]
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help="see --list; none or all: every")
    parser.add_argument("--list", action="store_true", help="list the tables")
    parser.add_argument("--jobs", type=int, default=JOBS, help="processes (%(default)s)")
    parser.add_argument("--into", type=Path, default=FOLDER, help="where the pages are written")
    parser.add_argument(
        "--keep", action="store_true",
        help="add to the stored draws instead of measuring all again",
    )  # fmt: skip
    parser.add_argument(
        "--minutes", type=float, metavar="N",
        help="begin nothing after so long: the first draws of everything (implies --keep)",
    )  # fmt: skip
    parser.add_argument(
        "--only", action="append", default=[], metavar="METHOD",
        help="measure these methods alone, by their names in the registry, or with settings: "
        "'lpfl n_selected=3000' (implies --keep)",
    )  # fmt: skip
    parser.add_argument(
        "--known", action="store_true", help="measure nothing: write pages from what is known"
    )
    parser.add_argument(
        "--stale", action="store_true", help="list what was measured with code that has changed"
    )
    parser.add_argument(
        "--check", action="store_true", help="recompute every printed mean from the stored draws"
    )
    for form in FORMS:
        parser.add_argument(f"--{form}", dest="form", action="store_const", const=form)
    parser.set_defaults(form=FORMS[0])
    return parser


def _progress_line() -> Callable[[str, int, int], None]:
    """Return what shows which part is under way, how many a minute, and the time left."""
    if not sys.stderr.isatty():
        return lambda _name, _done, _total: None
    began, first = time.perf_counter(), -1

    def show(name: str, done: int, total: int) -> None:
        nonlocal first
        first = done if first < 0 else first  # what an earlier run had done took no time now
        said = pace(done - first, total - first, time.perf_counter() - began)
        width = max(get_terminal_size().columns - 1, 20)
        line = f"{done:5}/{total} {said:24} {name}"[:width]
        print(f"\r{line:{width}}", end="", file=sys.stderr, flush=True)

    return show


if __name__ == "__main__":
    sys.exit(main())

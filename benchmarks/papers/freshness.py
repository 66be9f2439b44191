"""Whether pages still hold: the commits they were measured on, and the draws behind means."""

from __future__ import annotations

import json
import re
import subprocess
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.methods.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from benchmarks.papers.tables import Findings
    from lpisearch.model.reports import Table

ROOT = Path(__file__).parents[2]
COMMIT = "commit"
# The code that every measurement rests on.
SHARED = ("lpisearch/graphs", "lpisearch/evaluation/clustering.py", "benchmarks/papers/measures.py")
_IMPORTS = re.compile(r"from lpisearch\.methods\.(\w+) import")
# Of a printed mean, whose draws are stored with seven digits.
_ROUNDING = 1e-3
# The contract and the registry: they compute nothing.
_NO_SOLVERS = {"base", "catalogue", "parameters", "placement"}


@cache
def commit_of_code() -> str:
    """Return the last commit that changed what measurements rest on; "" outside a repository."""
    return _git("log", "-1", "--format=%h", "--abbrev=10", "--", "lpisearch/methods", *SHARED)


@cache
def modules_of(method: str) -> tuple[str, ...]:
    """Return the files that a method computes with, among those of methods."""
    home = CATALOGUE[method].home.split(":")[0] if method in CATALOGUE else ""
    found, left = set[str](), [home] if home else []
    while left:
        name = left.pop()
        path = ROOT / "lpisearch" / "methods" / f"{name}.py"
        if name not in found and path.exists():
            found.add(name)
            imports = _IMPORTS.findall(path.read_text(encoding="utf-8"))
            left += [each for each in imports if each not in _NO_SOLVERS]
    return tuple(f"lpisearch/methods/{name}.py" for name in sorted(found))


def commits(measured: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Return the commits of the measurements of each method; "" of before commits were kept."""
    found: dict[str, set[str]] = {}
    for method, value in measured:
        found.setdefault(method, set()).add(str(value.get(COMMIT, "")))
    return {method: sorted(own) for method, own in sorted(found.items())}


def stale(folder: Path) -> Iterator[str]:
    """Yield a line for each table and method whose code changed since it was measured."""
    for path in sorted(folder.glob("*.json")):
        known = json.loads(path.read_text(encoding="utf-8"))["parameters"].get("commits", "")
        for method, _, own in (each.partition(": ") for each in known.split(", ") if known):
            for commit in own.split(" "):
                if not commit:
                    yield f"{path.stem}: {method} was measured before commits were kept."
                elif changes := _changes(commit, method):
                    yield f"{path.stem}: {method} was measured on {commit}; since then: {changes}."
        if not known:
            yield f"{path.stem} was measured before commits were kept."


class Recomputed(NamedTuple):
    """Printed means of a table: the same, different, and without the draws behind them."""

    same: int
    different: list[str]
    lost: int


def recomputed(printed: Path, found: Findings) -> Recomputed:
    """Compare what a page prints with what the stored draws come to.

    A mean of a comparison says its number of draws. A row of any other table does not: it is
    compared if as many measurements are stored as the page rests on.
    """
    report = json.loads(printed.read_text(encoding="utf-8"))
    complete = report["parameters"].get("measured") == found.measured
    compared = {key: row for each in found.comparisons for key, row in _cells(each.details())}
    others = {table.name: json.loads(json.dumps(table.rows)) for table in found.tables}
    same, different, lost = 0, list[str](), 0
    for table in report["tables"]:
        for number, row in enumerate(table["rows"]):
            key = (table["name"], *list(row.values())[:2])
            if table["name"] in others:
                known, own = complete, others[table["name"]][number : number + 1]
                agrees = own == [row]
            elif row.get("measured") is None:
                continue
            else:
                own = compared.get(key, {})
                known = are_kept(report) and own.get("draws") and own["draws"] == row.get("draws")
                agrees = known and abs(own["measured"] - row["measured"]) <= _ROUNDING
            if not known:
                lost += 1
            elif agrees:
                same += 1
            else:
                different.append(f"{' '.join(map(str, key))}: {row}, of draws {own}")
    return Recomputed(same, different, lost)


def are_kept(report: Mapping[str, Any]) -> bool:
    """Whether the draws behind a page are stored: earlier pages do not count their measurements."""
    return "measured" in report["parameters"]


def _cells(table: Table) -> Iterator[tuple[tuple[Any, ...], Mapping[str, Any]]]:
    for row in table.rows:
        yield (table.name, *list(row.values())[:2]), row


@cache
def _changes(commit: str, method: str) -> str:
    """Return the subject of the last commit that changed the code of a method; "" without any."""
    if not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return "unknown, because this repository does not have that commit"
    files = (*modules_of(method), *SHARED)
    return _git("log", "-1", "--format=%h %s", f"{commit}..HEAD", "--", *files)


def _git(*words: str) -> str:
    found = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S607 -- words of our own
    return found.stdout.strip() if found.returncode == 0 else ""

"""Whether pages still hold: the commits they were measured on, and the draws behind means."""

from __future__ import annotations

import ast
import io
import json
import subprocess
import tarfile
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from lpisearch.methods.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import TypeAlias

    from benchmarks.papers.tables import Findings
    from lpisearch.model.reports import Table

    Code: TypeAlias = "dict[str, set[Definition]]"

ROOT = Path(__file__).parents[2]
COMMIT = "commit"
# Where the code is that measurements rest on.
_FOLDERS = ("lpisearch/methods", "lpisearch/graphs", "lpisearch/numeric")
_CLUSTERS = "lpisearch/evaluation/clustering.py"
# The contract and the registry: they compute nothing.
_NO_SOLVERS = {"base", "catalogue", "parameters", "placement"}
# What clusters are measured with, by whatever method.
_SHARED = ("cluster_documents", "clustering_accuracy", "mutual_information")
# Of a printed mean, whose draws are stored with seven digits.
_ROUNDING = 1e-3


@cache
def commit_of_code() -> str:
    """Return the last commit that changed what measurements rest on; "" outside a repository."""
    return (
        _git("log", "-1", "--format=%h", "--abbrev=10", "--", *_FOLDERS, _CLUSTERS).decode().strip()
    )


class Definition(NamedTuple):
    """A class, a function or a constant, in whatever module: its code, and the names in it."""

    code: str
    names: frozenset[str]


def definitions(source: str | bytes) -> Iterator[tuple[str, Definition]]:
    """Yield what a module defines, without texts, types, imports and messages of errors."""
    for each in ast.parse(source).body:
        named = [*getattr(each, "targets", []), getattr(each, "target", each)]
        _strip(each)
        nodes = list(ast.walk(each))
        own = {node.arg for node in nodes if isinstance(node, ast.arg)}
        names = [node for node in nodes if isinstance(node, ast.Name)]
        own |= {node.id for node in names if isinstance(node.ctx, ast.Store)}
        code = Definition(ast.dump(each), frozenset({node.id for node in names} - own))
        for target in named:
            if name := getattr(target, "id", getattr(target, "name", "")):
                yield name, code


def changed(old: Code, new: Code, names: Iterable[str]) -> list[str]:
    """Return the definitions that differ, of those that some names need."""
    before, after = _needed(old, names), _needed(new, names)
    return sorted(name for name in before | after if old.get(name) != new.get(name))


def commits(measured: Iterable[tuple[str, Mapping[str, Any]]]) -> dict[str, list[str]]:
    """Return the commits of the measurements of each method; "" of before commits were kept."""
    found: dict[str, set[str]] = {}
    for method, value in measured:
        found.setdefault(method, set()).add(str(value.get(COMMIT, "")))
    return {method: sorted(own) for method, own in sorted(found.items())}


def stale(folder: Path) -> Iterator[str]:
    """Yield a line for each table and commit, of the methods whose code changed since then."""
    for path in sorted(folder.glob("*.json")):
        known = json.loads(path.read_text(encoding="utf-8"))["parameters"].get("commits", "")
        found: dict[str, list[str]] = {} if known else {"before commits were kept": ["all"]}
        for method, _, own in (each.partition(": ") for each in known.split(", ") if known):
            for commit in own.split(" "):
                if not commit:
                    found.setdefault("before commits were kept", []).append(method)
                elif changes := _changes(commit, method):
                    found.setdefault(f"on {commit}; since then changed: {changes}", []).append(
                        method
                    )
        for said, methods in found.items():
            yield f"{path.stem}: {', '.join(methods)} measured {said}."


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


def _strip(definition: ast.stmt) -> None:
    for node in ast.walk(definition):
        for part in ("annotation", "returns", "exc"):
            if hasattr(node, part):
                setattr(node, part, None)
        if isinstance(body := getattr(node, "body", None), list):
            body[:] = [line for line in body if not _computes_nothing(line)]


def _computes_nothing(line: ast.stmt) -> bool:
    is_text = isinstance(line, ast.Expr) and isinstance(line.value, ast.Constant)
    return is_text or isinstance(line, ast.Import | ast.ImportFrom)


def _needed(code: Code, names: Iterable[str]) -> set[str]:
    found, left = set[str](), list(names)
    while left:
        if (name := left.pop()) not in found and name in code:
            found.add(name)
            left += [used for each in code[name] for used in each.names]
    return found


@cache
def _changes(commit: str, method: str) -> str:
    """Return what of the code of a method changed since a commit; "" if nothing."""
    if not _git("rev-parse", "--verify", "--quiet", f"{commit}^{{commit}}"):
        return "unknown, because this repository does not have that commit"
    about = CATALOGUE.get(method)
    own = [about.class_name, *(["nearest"] if about.has_graph else [])] if about else []
    return ", ".join(changed(_code(commit), _code("HEAD"), [*own, *_SHARED]))


@cache
def _code(commit: str) -> Code:
    """Return the code of a commit by name, of modules of the same name together."""
    found: Code = defaultdict(set)
    with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "lpisearch"))) as files:
        for file in files:
            path = Path(file.name)
            own = path.parent.as_posix() in _FOLDERS and path.stem not in _NO_SOLVERS
            if (own or file.name == _CLUSTERS) and (stream := files.extractfile(file)):
                for name, definition in definitions(stream.read()):
                    found[name].add(definition)
    return found


def _git(*words: str) -> bytes:
    found = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, check=False)  # noqa: S607 -- words of our own
    return found.stdout if found.returncode == 0 else b""

"""How the code hangs together: rooms, imports between them, calls across them, long functions.

    python benchmarks/structure.py [TREE…]

A tree is a checkout; this one if none is named. With two, their figures stand side by side, such
as those of an earlier version: `git worktree add /tmp/earlier v0.1.0`.

What is counted:

- A **room** is a folder of `lpisearch/`, or a module beside the folders.
- An **import between rooms** is a pair of modules of different rooms, of which one names the other
  in an import, at its top, within a function, or for types alone. It belongs to the room of the
  module that imports.
- A **crossing** is a pair of functions of different rooms, of which one calls the other directly
  while a command runs on the sample corpus; each pair counts once, however often it is called.
  What runs while a module is imported does not count.
- A **long function** has more than 40 lines after its docstring.
"""

from __future__ import annotations

import ast
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import arguments

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import FrameType

HERE = Path(__file__).resolve().parent.parent
LONGEST = 40
TRACE = "--trace"
COMMANDS = {
    "ingest": ["ingest", "sample_corpus/documents", "--labels", "folder"],
    "index": ["index"],
    "query": ["query", "why does my bread stay flat", "--explain"],
    "evaluate": ["evaluate", "similarity"],
}


@dataclass(frozen=True)
class Structure:
    """What is counted in one tree."""

    files: Counter[str]
    lines: Counter[str]
    imports: Counter[str]
    long_functions: list[str]
    crossings: dict[str, int]

    @classmethod
    def of(cls, tree: Path) -> Structure:
        """Count."""
        modules = dict(_modules(tree / "lpisearch"))
        files = Counter(room_of(name) for name in modules)
        lines: Counter[str] = Counter()
        for name, path in modules.items():
            lines[room_of(name)] += len(path.read_text(encoding="utf-8").splitlines())
        imports: Counter[str] = Counter()
        long_functions = []
        for name, path in modules.items():
            parsed = ast.parse(path.read_text(encoding="utf-8"))
            for other in set(_imported(parsed, set(modules))):
                imports[room_of(name)] += room_of(other) != room_of(name)
            long_functions += [f"{name}.{function}" for function in _long_functions(parsed)]
        return cls(files, lines, +imports, sorted(long_functions), crossings(tree))


def main() -> None:
    """Print the table, or trace one command for it."""
    if sys.argv[1:2] == [TRACE]:
        trace(Path(sys.argv[2]), sys.argv[3:])
        return
    named = arguments.paths(__doc__, "TREE", several=True)
    trees = [path.resolve() for path in named] or [HERE]
    found = [Structure.of(tree) for tree in trees]
    for line in report(found):
        print(line)


def report(found: list[Structure]) -> Iterator[str]:
    """Yield the lines of the tables, a group of columns for each tree."""
    rooms = sorted(set().union(*(one.files for one in found)))
    yield "| room |" + " files | lines | imports of other rooms | share |" * len(found)
    yield "|---|" + "---:|---:|---:|---:|" * len(found)
    for room in rooms:
        cells = [
            f" {one.files[room]} | {one.lines[room]:,} | {one.imports[room]} "
            f"| {one.imports[room] / one.imports.total():.0%} |"
            if one.files[room]
            else " | | | |"
            for one in found
        ]
        yield f"| `{room}` |" + "".join(cells)
    totals = (
        f" {one.files.total()} | {one.lines.total():,} | {one.imports.total()} | |" for one in found
    )
    yield "| together |" + "".join(totals)
    yield ""
    yield "| |" + " |" * len(found)
    yield "|---|" + "---:|" * len(found)
    for command in COMMANDS:
        yield f"| crossings of `{command}` |" + "".join(
            f" {one.crossings[command]} |" for one in found
        )
    yield f"| functions above {LONGEST} lines, not of the command line |" + "".join(
        f" {len(_inner(one))} |" for one in found
    )
    yield ""
    yield "Long functions: " + (", ".join(_inner(found[-1])) or "none") + "."


def room_of(module: str) -> str:
    """Return the room of a module: "search" of "lpisearch.search.engine"."""
    return module.split(".")[1] if "." in module else module


def crossings(tree: Path) -> dict[str, int]:
    """Run each command in turn on one library, and count the pairs of functions."""
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, words in COMMANDS.items():
            command = ["--db", str(Path(folder) / "library.db"), *words]
            done = subprocess.run(
                [sys.executable, __file__, TRACE, str(tree), *command],
                cwd=tree,
                check=True,
                capture_output=True,
                text=True,
            )
            found[name] = len(json.loads(done.stderr.splitlines()[-1]))
    return found


def trace(tree: Path, words: list[str]) -> None:
    """Run one command of a tree; write the pairs of functions across rooms to stderr."""
    sys.path.insert(0, str(tree))
    package = str(tree / "lpisearch") + "/"
    pairs: set[tuple[str, str]] = set()

    def profile(frame: FrameType, event: str, _argument: Any) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(package):
            return
        caller = frame.f_back
        if caller is None or not caller.f_code.co_filename.startswith(package):
            return
        if "<module>" in {frame.f_code.co_name, caller.f_code.co_name}:
            return
        a, b = frame.f_globals["__name__"], caller.f_globals["__name__"]
        if room_of(a) != room_of(b):
            pairs.add((f"{b}.{caller.f_code.co_qualname}", f"{a}.{frame.f_code.co_qualname}"))

    from lpisearch.cli import main as run

    sys.argv = ["lpisearch", *words]
    threading.setprofile(profile)
    sys.setprofile(profile)
    try:
        run()
    except SystemExit as end:
        if end.code:
            raise
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    print(json.dumps(sorted(pairs)), file=sys.stderr)


def _modules(package: Path) -> Iterator[tuple[str, Path]]:
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


def _imported(parsed: ast.Module, modules: set[str]) -> Iterator[str]:
    """Yield the modules of the package that a module names in its imports."""
    for node in ast.walk(parsed):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and (node.module or "") in modules:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in modules else str(node.module)


def _long_functions(parsed: ast.Module) -> Iterator[str]:
    for node in ast.walk(parsed):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) and len(node.body) > 1 else node.body
            if (node.end_lineno or 0) - body[0].lineno + 1 > LONGEST:
                yield node.name


def _inner(found: Structure) -> list[str]:
    return [name for name in found.long_functions if not name.startswith("lpisearch.cli.")]


if __name__ == "__main__":
    main()

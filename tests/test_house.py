"""How the package is laid out: sizes of modules, names, imports. `make check` runs this."""

import ast
import collections
import fnmatch
import io
import re
import tokenize
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parent.parent / "lpisearch"
SHORTEST, LONGEST, LONELY = 110, 600, 150  # lines of a module, of one with a single importer
# What only gets better: lower a bound as soon as the tree is below it.
FILES = 256
LINES = 72_530
IMPORT_SHARE = 10.1  # per cent of the lines of code
VAGUE_NAMES = 6
WORDS = 700  # of README.md

# Modules that may be short or long, or have one importer, or share their name, and why.
SIZES = {
    "*.__init__": "often a docstring alone",
    "lpisearch.__main__": "`python -m lpisearch`",
    "lpisearch.methods.*": "one file a method, however short its equation",
    "lpisearch.retrievers.*": "one file a framework, which imports it",
    "lpisearch.library": "the one class that a user holds; its docstrings are the reference",
    "lpisearch.options": "one field for each option, with its help",
}
NEIGHBOURS = {
    "lpisearch.search.hybrid": "open: joins the engine",
}
NAMES = {
    "__init__": "of every package",
    "base": "the contract of a room that others extend: readers, graphs, methods",
    "database|fulltext|lock|schema|store": "pairs for SQLite and PostgreSQL",
    "query": "a module of cli/ is called as its verb",
    "options": "cli/options makes parameters of lpisearch.options",
}
VAGUE = re.compile(
    r"(?:^|_)(asked|asking|said|saying|told|tell|heard|kept|keeping|holding|working|turning|anew|"
    r"given|wanted|each|found|most|least|longest|shortest|largest|smallest|more|less|place|places|"
    r"apart|talk|panel|ends)(?:_|$)"
)
# Terms of the field and public names that contain such a word.
TERMS = re.compile(r"not_found|least_squares|classify_each")
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}


class Module(NamedTuple):
    """A module: lines, lines of code and of imports; names that it defines and imports."""

    name: str
    lines: int
    code: int
    imports: int
    names: list[str]
    imported: set[str]


@pytest.fixture(scope="module")
def modules() -> dict[str, Module]:
    """Return every module of the package by name."""
    return {module.name: module for module in map(measure, sorted(PACKAGE.rglob("*.py")))}


def measure(path: Path) -> Module:
    """Measure one module."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    name = ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    code, import_lines, names, imported = code_lines(text), set[int](), list[str](), set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                code -= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
            if not isinstance(node, ast.Module):
                names.append(node.name)
        elif isinstance(node, ast.ImportFrom | ast.Import):
            import_lines |= {*range(node.lineno, (node.end_lineno or 0) + 1)}
            prefix = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            imported.update([prefix.rstrip("."), *(prefix + alias.name for alias in node.names)])
    return Module(name, text.count("\n"), len(code), len(import_lines), names, imported)


def code_lines(text: str) -> set[int]:
    """Return the lines that contain more than space and comments."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    spans = ((one.start[0], one.end[0]) for one in tokens if one.string and one.type not in LAYOUT)
    return {line for first, last in spans for line in range(first, last + 1)}


def room(name: str) -> str:
    """Return the package of a module."""
    return name.rpartition(".")[0]


def excepted(name: str, exceptions: dict[str, str]) -> bool:
    """Tell whether a table of exceptions has this name."""
    return any(fnmatch.fnmatch(name, one) for key in exceptions for one in key.split("|"))


def test_a_module_can_be_read_at_once(modules: dict[str, Module]) -> None:
    sizes = {name: module.lines for name, module in modules.items() if not excepted(name, SIZES)}
    wrong = {name: size for name, size in sizes.items() if not SHORTEST <= size <= LONGEST}
    assert not wrong, f"join short modules with what they change with, split long ones: {wrong}"


def test_no_module_is_a_paragraph_of_its_neighbour(modules: dict[str, Module]) -> None:
    users = collections.defaultdict(list)
    for module in modules.values():
        for name in module.imported & modules.keys() - {module.name}:
            users[name].append(module.name)
    one_user = {name: who[0] for name, who in users.items() if len(who) == 1}
    small = {name: user for name, user in one_user.items() if modules[name].lines < LONELY}
    near = {n: user for n, user in small.items() if room(user) == room(n)}
    lonely = {name: user for name, user in near.items() if not excepted(name, NEIGHBOURS)}
    assert not lonely, f"move each module into the one that imports it: {lonely}"


def test_no_two_modules_share_a_name(modules: dict[str, Module]) -> None:
    counts = collections.Counter(name.rpartition(".")[2] for name in modules)
    twins = [name for name, count in counts.items() if count > 1 and not excepted(name, NAMES)]
    assert not twins, f"rename one module after what sets it apart: {twins}"


def test_names_are_words_of_the_field(modules: dict[str, Module]) -> None:
    named = [(module.name, name) for module in modules.values() for name in module.names]
    named += [(room(name), name.rpartition(".")[2]) for name in modules]
    words = {pair: re.sub(r"(?<=[a-z])(?=[A-Z])", "_", pair[1]).lower() for pair in named}
    vague = [".".join(pair) for pair, word in words.items() if VAGUE.search(TERMS.sub("", word))]
    assert len(vague) <= VAGUE_NAMES, "name these after what they hold or do: " + " ".join(vague)


def test_the_whole_stays_small(modules: dict[str, Module]) -> None:
    lines = sum(module.lines for module in modules.values())
    code = sum(module.code for module in modules.values())
    imports = sum(module.imports for module in modules.values())
    share = round(100 * imports / code, 1)
    within = len(modules) <= FILES and lines <= LINES and share <= IMPORT_SHARE
    measured = f"{len(modules)} files, {lines} lines, {share} % of the code imports"
    assert within, f"delete or merge something instead of raising a bound: {measured}"


def test_the_readme_is_short() -> None:
    words = (PACKAGE.parent / "README.md").read_text(encoding="utf-8").split()
    assert len(words) <= WORDS, f"{len(words)} words: move something to docs/"

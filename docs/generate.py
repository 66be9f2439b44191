"""Write the generated parts of the documentation, or check that they are up to date.

Run `make docs` to write, `make check` to check. Generated: docs/cli.md and the manual page from the
help of every command; the tables of formats, methods and settings from their lists. Links, and the
rooms of docs/architecture.md, are checked too.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
WIDTH = 92
VERBS = re.compile(r"^  (\w[\w-]*)  ", re.MULTILINE)
LINK = re.compile(r"\]\((?!https?:|#|mailto:)([^)#\s]+)")


def main() -> None:
    """Write or check."""
    check = sys.argv[1:] == ["--check"]
    helps = {" ".join(["lpisearch", *verb]): help_of(verb) for verb in [[], *verbs([])]}
    wanted = {ROOT / "docs/cli.md": cli_page(helps), ROOT / "docs/lpisearch.1": man_page(helps)}
    formats = ROOT / "docs/formats.md"
    wanted[formats] = with_part(formats, "formats", formats_table())
    methods = ROOT / "docs/projections.md"
    wanted[methods] = with_part(methods, "methods", methods_table())
    settings = ROOT / "docs/settings.md"
    wanted[settings] = with_part(settings, "settings", settings_table())
    check_rooms()
    stale = [path for path, text in wanted.items() if not same(path, text)]
    if not check:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    broken = broken_links()
    for line in broken:
        print(line)
    if check and stale:
        print("Out of date: " + ", ".join(str(path.relative_to(ROOT)) for path in stale))
        print("Next: make docs")
    if broken or (check and stale):
        sys.exit(1)


def same(path: Path, text: str) -> bool:
    """Tell whether a page is up to date."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def cli_page(helps: dict[str, str]) -> str:
    """Return the help of the program and of every command, as a page."""
    parts = ["# The command line\n\nWritten by `make docs` from the program itself.\n"]
    parts.extend(f"## {verb}\n\n```text\n{text}\n```\n" for verb, text in helps.items())
    return "\n".join(parts)


def man_page(helps: dict[str, str]) -> str:
    """Return the manual page: what the program is, and the same help."""
    from lpisearch.cli.verbs import EXAMPLES

    name, purpose = "lpisearch", "search and classify documents by meaning, on an ordinary computer"
    lines = [
        f'.TH {name.upper()} 1 "" "{name}" "User Commands"',
        *(".SH NAME", rf"{name} \- {purpose}"),
        ".SH SYNOPSIS",
        ".nf",
        *(rf".B {name} \fI{verb}\fR {roff(rest)}".rstrip() for verb, rest in SYNOPSIS),
        ".fi",
        *(".SH DESCRIPTION", *paragraphs(DESCRIPTION), ".SH COMMANDS"),
    ]
    for verb, text in helps.items():
        lines += [f'.SS "{verb}"', ".nf", ".in 0", *map(roff, text.splitlines()), ".fi"]
    for heading, entries in (("FILES", FILES), ("ENVIRONMENT", ENVIRONMENT)):
        lines += [f".SH {heading}", *tagged(entries)]
    lines += [".SH EXIT STATUS", *tagged(EXIT_STATUS), ".SH EXAMPLES"]
    for verb in EXAMPLES_SHOWN:
        purpose, command = EXAMPLES[verb][0]
        lines += [".PP", f"{roff(purpose)}:", ".PP", ".nf", ".RS 4"]
        lines += [f"{name} {roff(command)}", ".RE", ".fi"]
    see_also = ", ".join(rf"\fB{page}\fR({section})" for page, section in SEE_ALSO)
    lines += [".SH SEE ALSO", f"{see_also}.", *paragraphs(MORE)]
    return "\n".join(lines) + "\n"


SYNOPSIS = (
    ("COMMAND", "[OPTIONS] [ARGUMENTS]"),
    ("ingest", "[OPTIONS] PATH..."),
    ("search", "[OPTIONS] [TEXT...]"),
    ("similar", "[OPTIONS] DOCUMENT"),
    ("open", "[N|DOCUMENT]"),
    ("serve", "[OPTIONS]"),
    ("COMMAND", "--help | --help-all"),
)
DESCRIPTION = """\
lpisearch keeps documents of many formats in a library, a single file, and finds them by their
words and by their meaning, without a network and without a graphics card. What a document means is
learned from the library itself by Locality Preserving Indexing.

"ingest" adds files and folders and builds the index; unchanged files are skipped the next time.
"search" answers a query: words rank, "a phrase" must occur, -word must not. "open" opens a result.
Results go to standard output, notes and progress to standard error, so results can be piped."""
FILES = (
    ("./lpisearch.db", "The library, unless another is named or configured."),
    ("./lpisearch.index/", "Its indexes, next to it; they can be rebuilt."),
    ("./lpisearch.toml", "Settings of the library next to it."),
    ("~/.config/lpisearch/config.toml", "Your own settings (config path names the file)."),
    ("~/.local/state/lpisearch/", "Locations of the last results, and the history of the prompt."),
    ("~/.cache/lpisearch/", "Evaluations that were interrupted, and downloaded indexes."),
)
ENVIRONMENT = (
    ("LPISEARCH_DB", "The library, a file or a postgresql:// URL; --db overrides it."),
    ("LPISEARCH_PAGER, PAGER", "The pager of long answers at a terminal (less); cat for none."),
    ("LPISEARCH_TOKEN", "The token that the server requires of clients."),
    (
        "LPISEARCH_INDEX_STORE",
        "Where the shared folder of indexes of a PostgreSQL library is mounted here.",
    ),
    ("NO_COLOR, FORCE_HYPERLINK", "No colours; links to files also in an unknown terminal."),
    ("XDG_CONFIG_HOME, XDG_STATE_HOME, XDG_CACHE_HOME", "Where the files above are."),
)
EXIT_STATUS = (
    ("0", "Done."),
    ("1", "A stated error; also no results, with --fail-if-none."),
    ("2", "Wrong usage."),
    ("130", "Interrupted by Ctrl-C; completed work is saved."),
)
EXAMPLES_SHOWN = ("ingest", "search", "similar", "open", "classify", "serve")
SEE_ALSO = (("fzf", 1), ("jq", 1), ("rg", 1), ("sqlite3", 1))
MORE = """\
The documentation is in the folder docs of the source: tour.md, searching.md (the syntax of
queries), ingesting.md, settings.md, recipes.md (other programs), web.md and python.md."""


def paragraphs(text: str) -> list[str]:
    """Return paragraphs in troff."""
    return [line for part in text.split("\n\n") for line in (".PP", *map(roff, part.splitlines()))]


def tagged(entries: Iterable[tuple[str, str]]) -> list[str]:
    """Return a list of terms and what they are, in troff."""
    return [line for term, text in entries for line in (".TP", rf"\fB{roff(term)}\fR", roff(text))]


def roff(line: str) -> str:
    """Escape a line for troff."""
    shown = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown


def verbs(group: list[str]) -> list[list[str]]:
    """Return every command below a group, each followed by its own."""
    commands = help_of(group).partition("\nCommands:\n")[2].partition("\nOther names:\n")[0]
    names = [[*group, name] for name in VERBS.findall(commands)]
    return [verb for name in names for verb in (name, *verbs(name))]


def help_of(verb: list[str]) -> str:
    """Return the full help of a command."""
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    environment.pop("LPISEARCH_DB", None)
    command = [sys.executable, "-m", "lpisearch", *verb, "--help-all"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in result.stdout.strip().splitlines()]
    return "\n".join(lines).replace("python -m lpisearch", "lpisearch")


def formats_table() -> str:
    """Return the list of readers as a table."""
    from lpisearch.readers.registry import READERS

    rows = ["| `--format` | files | documents in a file |", "|---|---|---|"]
    for reader in READERS.values():
        files = ", ".join(f"`{suffix}`" for suffix in reader.suffixes) or "detected by content"
        rows.append(f"| `{reader.name}` | {files} | {'many' if reader.many else 'one'} |")
    return "\n".join(rows)


def methods_table() -> str:
    """Return the catalogue of methods as a table."""
    from lpisearch.methods.catalogue import CATALOGUE

    rows = ["| name | computes | graph | linear | chooses |", "|---|---|---|---|---|"]
    for method in CATALOGUE.values():
        graph, linear = ("yes" if each else "no" for each in (method.has_graph, method.is_linear))
        chooses = ", ".join(f"`{each}`" for each in sorted(method.chooses))
        rows.append(f"| `{method.name}` | {method.computes} | {graph} | {linear} | {chooses} |")
    return "\n".join(rows)


def settings_table() -> str:
    """Return the table of settings."""
    from lpisearch.config import KEYS

    rows = ["| key | value | without it | what it is |", "|---|---|---|---|"]
    for name, key in KEYS.items():
        value = " or ".join(f"`{each}`" for each in key.choices) or key.kind
        auto = "`auto` or " if key.auto else ""
        usual = "" if key.default in (None, "", []) else f"`{key.default}`"
        where = " (your own file alone)" if key.own else ""
        rows.append(f"| `{name}` | {auto}{value} | {usual} | {key.help}{where} |")
    return "\n".join(rows)


def check_rooms() -> None:
    """Compare the rooms in docs/architecture.md with the layers of pyproject.toml."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    layers = contracts["tool"]["importlinter"]["contracts"][0]["layers"]
    rooms = [room for layer in layers for room in re.split(r" *[|:] *", layer)]
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    if re.findall(r"^[a-z ]{10}(\w+) +\S", page, re.MULTILINE) != rooms:
        sys.exit(f"architecture.md: list the rooms in the order of the layers: {', '.join(rooms)}")


def with_part(path: Path, name: str, text: str) -> str:
    """Return a page with the part between its two marks replaced."""
    page = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name}: written by make docs -->", f"<!-- end of {name} -->"
    before, mark, rest = page.partition(begin)
    _, other, after = rest.partition(end)
    if not (mark and other):
        sys.exit(f"{path.name} lacks the marks of the part “{name}”.")
    return f"{before}{begin}\n{text}\n{end}{after}"


def broken_links() -> list[str]:
    """Return the links in our pages that have no target file."""
    return [
        f"{page.relative_to(ROOT)}: nothing at {target}"
        for page in PAGES
        if page.exists()
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]


if __name__ == "__main__":
    main()

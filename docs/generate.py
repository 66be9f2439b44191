"""Write the generated parts of the documentation, or check that they are in step.

Run `make docs` to write, `make check` to check. Generated: docs/cli.md and the page of the manual
from the help of every verb, the tables of formats, methods and settings from their lists. Checked
too: that links lead somewhere.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

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
    readme = ROOT / "README.md"
    wanted[readme] = with_part(readme, "formats", formats_table())
    methods = ROOT / "docs/projections.md"
    wanted[methods] = with_part(methods, "methods", methods_table())
    settings = ROOT / "docs/settings.md"
    wanted[settings] = with_part(settings, "settings", settings_table())
    stale = [path for path, text in wanted.items() if not same(path, text)]
    if not check:
        for path in stale:
            path.write_text(wanted[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    broken = broken_links()
    for line in broken:
        print(line)
    if check and stale:
        print("Not in step: " + ", ".join(str(path.relative_to(ROOT)) for path in stale))
        print("Next: make docs")
    if broken or (check and stale):
        sys.exit(1)


def same(path: Path, text: str) -> bool:
    """Tell whether a page says what it should."""
    return path.exists() and path.read_text(encoding="utf-8") == text


def cli_page(helps: dict[str, str]) -> str:
    """Return the help of the program and of every verb, as a page."""
    parts = ["# The command line\n\nWritten by `make docs` from the program itself.\n"]
    parts.extend(f"## {verb}\n\n```text\n{text}\n```\n" for verb, text in helps.items())
    return "\n".join(parts)


def man_page(helps: dict[str, str]) -> str:
    """Return the same as a page of the manual."""
    name, purpose = "lpisearch", "search and classify documents by meaning, on an ordinary computer"
    lines = [
        f'.TH {name.upper()} 1 "" "{name}" "User Commands"',
        *(".SH NAME", rf"{name} \- {purpose}"),
        *(".SH SYNOPSIS", f".B {name}", "[OPTIONS] COMMAND [ARGS]..."),
        ".SH DESCRIPTION",
    ]
    for verb, text in helps.items():
        heading = [f'.SH "{verb.upper()}"'] if verb != name else []
        lines += [*heading, ".nf", ".in 0", *map(roff, text.splitlines()), ".fi"]
    lines += [
        *(".SH FILES", ".TP", ".I lpisearch.db", "Default library."),
        *(".TP", ".I lpisearch.toml", "Settings, next to the library; config path names your own."),
        *(".SH EXIT STATUS", "0 done, 1 a stated error, 2 wrong usage, 130 stopped by Ctrl-C."),
    ]
    return "\n".join(lines) + "\n"


def roff(line: str) -> str:
    """Return a line that troff shows as it is."""
    shown = line.replace("\\", r"\e").replace("-", r"\-")
    return rf"\&{shown}" if shown.startswith((".", "'")) else shown


def verbs(group: list[str]) -> list[list[str]]:
    """Return every verb below a group, its own verbs behind it."""
    _, _, commands = help_of(group).partition("\nCommands:\n")
    names = [[*group, name] for name in VERBS.findall(commands)]
    return [verb for name in names for verb in (name, *verbs(name))]


def help_of(verb: list[str]) -> str:
    """Return what a verb prints for --help."""
    environment = os.environ | {"COLUMNS": str(WIDTH), "NO_COLOR": "1", "TERM": "dumb"}
    environment.pop("LPISEARCH_DB", None)
    command = [sys.executable, "-m", "lpisearch", *verb, "--help"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    lines = [line.rstrip() for line in result.stdout.strip().splitlines()]
    return "\n".join(lines).replace("python -m lpisearch", "lpisearch")


def formats_table() -> str:
    """Return the list of readers as a table."""
    from lpisearch.readers.registry import READERS

    rows = ["| `--format` | files | documents in a file |", "|---|---|---|"]
    for reader in READERS.values():
        files = ", ".join(f"`{suffix}`" for suffix in reader.suffixes) or "told by content"
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
    """Return what can be set as a table."""
    from lpisearch.config import KEYS

    rows = ["| key | value | without it | what it is |", "|---|---|---|---|"]
    for name, key in KEYS.items():
        value = " or ".join(f"`{each}`" for each in key.choices) or key.kind
        auto = "`auto` or " if key.auto else ""
        usual = "" if key.default in (None, "", []) else f"`{key.default}`"
        where = " (your own file alone)" if key.own else ""
        rows.append(f"| `{name}` | {auto}{value} | {usual} | {key.help}{where} |")
    return "\n".join(rows)


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
    """Return the links in our pages that lead to no file."""
    return [
        f"{page.relative_to(ROOT)}: nothing at {target}"
        for page in PAGES
        if page.exists()
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not (page.parent / target).exists()
    ]


if __name__ == "__main__":
    main()

"""Plain text, source code, YAML, reStructuredText, AsciiDoc, Org, Info, gettext catalogues.

The title of a plain text is its first line that is not blank if it is short, has a letter or digit,
and more text follows; marks of headings around it are omitted. Overstruck text, as typewriters and
`man` wrote bold and underlined words, is read as one letter each. Source code is titled by the name
of the file, YAML by the top-level value of `title` or `name`, reStructuredText and AsciiDoc by the
first heading, Org by `#+TITLE` or the first heading; all fall back to the name of the file.
Comments of reStructuredText, names and options of directives are omitted; `#+FILETAGS` of Org are
labels. A gettext catalogue gives each message and its translation.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, TypeAlias

from lpisearch.errors import ReaderError
from lpisearch.model.documents import Document, Problem, Section
from lpisearch.readers.base import NO_TEXT, Reader, SourceFile, line_sections, whole
from lpisearch.readers.encoding import decode_text, looks_binary
from lpisearch.readers.records import date_of, labels_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from lpisearch.options import ReadOptions


LONGEST_TITLE = 120


def read_text(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield warnings about the encoding, then the one document."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    text = without_overstrikes(decoded.text).strip()
    if not text:
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    yield Document(first_line_title(text) or source.stem, text, metadata=decoded.metadata)


def first_line_title(text: str) -> str:
    """Return the first line if it can be a title, or ""."""
    first = _FIRST_OF_SEVERAL.match(text)
    line = _TITLE_MARKS.sub("", first[1].strip()).strip() if first else ""
    return line if len(line) <= LONGEST_TITLE and re.search(r"\w", line) else ""


def without_overstrikes(text: str) -> str:
    r"""Return text without letters that others were typed over, and without colours.

    >>> without_overstrikes("P\bPo\bo _\bof")
    'Po of'
    """
    if "\b" in text:
        text = _OVERSTRUCK.sub("", text)
    return _COLOUR.sub("", text) if "\x1b" in text else text


def sniff_text(head: bytes) -> bool:
    """Tell whether bytes are text. True of many formats, so it comes last."""
    return bool(head) and not looks_binary(head)


TEXT_READER = Reader("text", (".txt", ".text", ".asc", ".log", ".tex"), read_text, sniff_text)

_FIRST_OF_SEVERAL = re.compile(r"\s*(?:\.\. _[^\n]*\n\s*)?(\S[^\n]*)\n\s*\S")
_TITLE_MARKS = re.compile(r"^(?:={1,6}|#{1,6}|%|;{2,4})[ \t]+|(?<=[ \t])[=#]{1,6}$|¶$")
_OVERSTRUCK = re.compile(r"[^\n\x08]?\x08")
_COLOUR = re.compile(r"\x1b\[[0-9;]{0,20}m")


Marked: TypeAlias = tuple[list[str], list[tuple[int, str]], dict[str, Any]]
"""Lines without marks; headings with the numbers of their lines; title, date, labels, metadata."""


def read_marked(
    source: SourceFile, options: ReadOptions, media_type: str, marked: Callable[[str], Marked]
) -> Iterator[Document | Problem]:
    """Yield warnings about the encoding, then the one document."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    lines, headings, facts = marked(decoded.text)
    joined = "\n".join(lines)
    text = joined.strip()
    if not text:
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    skipped = len(joined) - len(joined.lstrip())
    title = facts.pop("title", headings[0][1] if headings else "")
    yield Document(
        title or source.stem,
        text,
        labels=labels_of(facts.pop("labels", ()), "labels"),
        date=date_of(facts.pop("date", "")),
        media_type=media_type,
        metadata={**facts, **decoded.metadata},
        sections=line_sections(lines, headings, skipped=skipped),
    )


MEDIA_TYPE = "text/x-source-code"
SUFFIXES = (
    ".py .pyi .pyx .ipy .rb .pl .pm .php .lua .tcl .r .jl .m .sh .bash .zsh .fish .ps1 .bat .cmd "
    ".c .h .cc .cpp .cxx .hh .hpp .hxx .cs .java .kt .kts .scala .groovy .gradle .go .rs .swift "
    ".d .dart .zig .nim .hs .ml .mli .fs .fsx .elm .erl .ex .exs .clj .cljs .lisp .el .scm .rkt "
    ".js .mjs .cjs .jsx .ts .tsx .vue .svelte .css .scss .sass .less .sql .graphql .proto .thrift "
    ".f .f90 .f95 .for .pas .ada .adb .ads .asm .s .v .sv .vhd .vb .vim .awk .cmake .mk .tf .nix "
    ".toml .ini .cfg .conf .properties"
)

_MODIFIERS = (
    "async|export|default|public|private|protected|internal|static|final|abstract|sealed|pub"
)
_DEFINITION = re.compile(
    rf"(?:(?:{_MODIFIERS}) ){{0,4}}"
    r"(?:def|class|function|func|fn|fun|interface|struct|enum|trait|impl|module|namespace|"
    r"type|record|object|package|sub|proc|CREATE TABLE|create table)[ \t]+([\w.:$]{1,200})"
)


def read_code(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield warnings about the encoding, then the one document."""
    decoded = decode_text(whole(source, options.max_document_bytes))
    text = decoded.text.strip("\n")
    if not text.strip():
        raise ReaderError(NO_TEXT)
    yield from decoded.warnings
    yield Document(
        PurePath(source.name).name,
        text,
        media_type=MEDIA_TYPE,
        metadata=decoded.metadata,
        sections=tuple(_definitions(text)),
    )


def _definitions(text: str) -> Iterator[Section]:
    """Yield the definitions on lines that are not indented."""
    start = 0
    for line in text.split("\n"):
        if line[:1].isalpha() and (match := _DEFINITION.match(line)) is not None:
            yield Section(start, "heading", match[1])
        start += len(line) + 1


def sniff_code(head: bytes) -> bool:
    """Tell a script without a suffix by its first line."""
    return head.startswith((b"#!/", b"#! /"))


CODE_READER = Reader("code", tuple(SUFFIXES.split()), read_code, sniff_code)


_KEY = re.compile(r"([\w][\w ./-]{0,80}|\"[^\"\n]{1,80}\"|'[^'\n]{1,80}'):(?:[ \t]+(.*))?$")
_TITLES = ("title", "name")


def _marked(text: str) -> Marked:
    """Return the lines, the keys among them, and the title."""
    lines = [line for line in text.split("\n") if line.rstrip() not in {"---", "..."}]
    headings: list[tuple[int, str]] = []
    stated: dict[str, str] = {}
    for number, line in enumerate(lines):
        if (match := _KEY.match(line)) is not None:
            name = match[1].strip("\"'")
            headings.append((number, name))
            value = (match[2] or "").strip().strip("\"'")
            if name.lower() in _TITLES and value[:1] not in {"", "|", ">", "&", "*", "{", "["}:
                stated.setdefault(name.lower(), value)
    title = next((stated[name] for name in _TITLES if name in stated), "")
    return lines, headings, {"title": title}


YAML_READER = Reader(
    "yaml", (".yaml", ".yml"), partial(read_marked, media_type="application/yaml", marked=_marked)
)


_ADORNMENT = re.compile(r"([=\-`:.'\"~^_*+#<>])\1+\s*$")
_DIRECTIVE = re.compile(r"\s*\.\. (?:\|[^|\n]*\| )?([\w:+.-]{1,80})::\s?(.*)")
_TARGET = re.compile(r"\s*(?:\.\. _|__ )")
_COMMENT = re.compile(r"(\s*)\.\.(?: |$)")
_OPTION = re.compile(r"\s+:[\w -]{1,80}:")
_WITHOUT_TEXT = {"image", "contents", "toctree", "include", "literalinclude", "raw", "highlight"}
_ROLE = re.compile(r"(?::[\w:+.-]{1,60}:)?`([^`<\n]*)(?:<[^`\n]*>)?`(?:_{1,2}|:[\w:+.-]{1,60}:)?")
_LITERAL = re.compile(r"``([^`\n]*)``")
_EMPHASIS = re.compile(r"(?<![\w*])\*{1,2}([^*\n]{1,400})\*{1,2}(?![\w*])")


def _rst_marked(text: str) -> Marked:
    """Return the lines of the text and its headings."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    skipped = -1  # the indentation of a comment, whose further lines are indented deeper
    for line in text.split("\n"):
        indent = len(line) - len(line.lstrip())
        if skipped >= 0 and (not line.strip() or indent > skipped):
            continue
        unmarked = _unmarked(line)
        skipped = indent if unmarked is None else -1
        if _ADORNMENT.match(line):
            if lines and (name := lines[-1].strip()) and not _is_listed(headings, lines):
                headings.append((len(lines) - 1, name))
        elif unmarked is not None and (unmarked or not line.strip()):
            lines.append(unmarked)
    return lines, headings, {}


def _unmarked(line: str) -> str | None:
    """Return a line without marks, "" for a mark; None where a comment begins."""
    if (match := _DIRECTIVE.match(line)) is not None:
        return None if match[1] in _WITHOUT_TEXT else _plain(match[2])
    if _TARGET.match(line) or _OPTION.match(line):
        return ""
    return None if _COMMENT.match(line) else _plain(line)


def _is_listed(headings: list[tuple[int, str]], lines: list[str]) -> bool:
    """Tell whether the last line is a heading already: adornment may be above and below."""
    return bool(headings) and headings[-1][0] == len(lines) - 1


def _plain(line: str) -> str:
    if "`" in line:
        line = _ROLE.sub(r"\1", _LITERAL.sub(r"\1", line))
    return _EMPHASIS.sub(r"\1", line) if "*" in line else line


RST_READER = Reader(
    "rst", (".rst", ".rest"), partial(read_marked, media_type="text/x-rst", marked=_rst_marked)
)


_HEADING = re.compile(r"\*+ +(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED) +)?(?:\[#[A-Z0-9]\] +)?(.*)")
_TAGS = re.compile(r"[ \t]:[\w@#%:]{1,400}:$")
_KEYWORD = re.compile(r"\s*#\+([\w-]{1,80}):\s?(.*)")
_MARK = re.compile(r"\s*(?:#\+|# |#$)")
_DRAWER_BEGINS = re.compile(r"\s*:(?:PROPERTIES|LOGBOOK):$", re.IGNORECASE)
_DRAWER_ENDS = re.compile(r"\s*:END:$", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^][\n]{1,2000})\](?:\[([^][\n]{1,2000})\])?\]")
_ORG_EMPHASIS = re.compile(r"(?<![\w*/=~+])([*/=~+_])([^*/=~+\n]{1,400})\1(?![\w*/=~+])")
_STATED = {"author": "author", "description": "description", "keywords": "keywords"}


def _org_marked(text: str) -> Marked:
    """Return the lines of the text, its headings and facts."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    facts: dict[str, Any] = {}
    in_drawer = False
    for line in text.split("\n"):
        if in_drawer or _DRAWER_BEGINS.match(line):
            in_drawer = not _DRAWER_ENDS.match(line)
        elif (match := _KEYWORD.match(line)) is not None:
            _state(facts, match[1].lower(), match[2].strip())
        elif (match := _HEADING.match(line)) is not None:
            name = _org_plain(_TAGS.sub("", match[1].rstrip())).strip()
            headings.append((len(lines), name))
            lines.append(name)
        elif not _MARK.match(line):
            lines.append(_org_plain(line))
    return lines, headings, facts


def _state(facts: dict[str, Any], name: str, value: str) -> None:
    """Record the metadata of a line such as `#+TITLE: …`."""
    if name == "title":
        facts["title"] = f"{facts.get('title', '')} {_org_plain(value)}".strip()
    elif name == "filetags":
        facts["labels"] = [tag for tag in value.replace(":", " ").split() if tag]
    elif name == "date":
        facts["date"] = value.strip("<>[]").split(" ")[0]
    elif name in _STATED and value:
        facts[_STATED[name]] = value


def _org_plain(line: str) -> str:
    if "[[" in line:
        line = _LINK.sub(lambda link: link[2] or link[1], line)
    return _ORG_EMPHASIS.sub(r"\2", line)


ORG_READER = Reader(
    "org", (".org",), partial(read_marked, media_type="text/x-org", marked=_org_marked)
)


_ADOC_HEADING = re.compile(r"(={1,6}|#{1,6})[ \t]+(\S.*)")
_ADOC_STATED = re.compile(r":(!?[\w-]{1,80}!?):(?:[ \t]+(.*))?$")
_ADOC_MARK = re.compile(
    r"(?:-{4,}|={4,}|\*{4,}|_{4,}|\.{4,}|\+{4,}|--|\|={3,}|\+|<{3,}|'{3,}|\[[^\[\]\n]*\])\s*$"
)
_ADOC_COMMENT = re.compile(r"//(?!/)")
_ADOC_LITERAL = re.compile(r"(-{4,}|\.{4,}|\+{4,})\s*$")
_ADOC_COMMENT_BLOCK = re.compile(r"/{4,}\s*$")
_ADOC_MACRO = re.compile(
    r"(?:image|include|video|audio|toc|ifdef|ifndef|endif|ifeval)::[^\[\n]{0,500}+\[([^\]\n]{0,500})\]"
)
_ADOC_LINK = re.compile(
    r"(?<![^\s(,;])(?:link:|https?://|mailto:|xref:|image:)[^\s\[\](,;]{1,1000}+\[([^\]\n]*)\]"
)
_ADOC_REFERENCE = re.compile(r"<<(?:[^<>,\n]{1,400},[ \t]*)?([^<>\n]{1,400})>>")
_ADOC_ANCHOR = re.compile(r"\[\[[^\]\n]{1,400}\]\]|\(\(\(?|\)?\)\)")
_ADOC_LIST = re.compile(r"^[ \t]*(?:\*{1,5}|\.{1,5}|-|<\d{1,3}>)[ \t]+(?=\S)|^\.(?=[^\s.])")
_ADOC_EMPHASIS = re.compile(r"(?<![\w*`_#])(\*\*?|__?|`|##?)(\S[^*_`#\n]{0,400}?)\1(?![\w*`_#])")


def _adoc_marked(text: str) -> Marked:
    """Return the lines of the text, its headings and facts."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    facts: dict[str, Any] = {}
    literal = comment = ""
    for line in text.split("\n"):
        if comment:
            comment = "" if line.rstrip() == comment else comment
        elif literal:
            if line.rstrip() == literal:
                literal = ""
            else:
                lines.append(line)
        elif _ADOC_COMMENT_BLOCK.match(line):
            comment = line.rstrip()
        elif (match := _ADOC_LITERAL.match(line)) is not None:
            literal = match[1]
        elif (match := _ADOC_HEADING.match(line)) is not None:
            name = _adoc_plain(match[2]).removesuffix(match[1]).strip()
            headings.append((len(lines), name))
            lines.append(name)
        elif (match := _ADOC_STATED.match(line)) is not None:
            _adoc_state(facts, match[1].lower(), (match[2] or "").strip())
        elif not (_ADOC_COMMENT.match(line) or _ADOC_MARK.match(line)):
            lines.append(_adoc_plain(_ADOC_LIST.sub("", line, count=1)))
    return lines, headings, facts


def _adoc_state(facts: dict[str, Any], name: str, value: str) -> None:
    """Record a document attribute that states metadata."""
    if name in {"author", "description", "keywords"} and value:
        facts[name] = value
    elif name in {"date", "revdate"}:
        facts["date"] = value


def _adoc_plain(line: str) -> str:
    if "[" in line:
        line = _ADOC_LINK.sub(r"\1", _ADOC_MACRO.sub(r"\1", line))
    line = _ADOC_ANCHOR.sub("", _ADOC_REFERENCE.sub(r"\1", line))
    return _ADOC_EMPHASIS.sub(r"\2", line)


ASCIIDOC_READER = Reader(
    "asciidoc",
    (".adoc", ".asciidoc"),
    partial(read_marked, media_type="text/asciidoc", marked=_adoc_marked),
)


_NODE = re.compile(r"File: [^\n]{1,400}?,[ \t]+Node: ")
_INFO_BEGINNING = re.compile(rb"This is [^\n]{1,400}produced by|[^\x1f]{0,8000}\x1f\s*File: ")
_INFO_UNDERLINE = re.compile(r"([*=\-.])\1+\s*$")
_DIRECTORY = re.compile(r"\* ([^:\n]{1,200}): \([^()\n]{1,200}\)[^.\n]{0,200}\.[ \t]+(.*)")
_INFO_MENU = re.compile(r"\* ([^:\n]{1,400})::[ \t]*")
_INFO_REFERENCE = re.compile(r"\*[Nn]ote ([^:\n]{1,400})::")


def _info_marked(text: str) -> Marked:
    """Return the lines of the nodes; tables of nodes and lines about the file are omitted."""
    lines: list[str] = []
    headings: list[tuple[int, str]] = []
    facts: dict[str, Any] = {}
    head, *nodes = text.split("\x1f\n")
    for line in head.split("\n"):
        if (match := _DIRECTORY.match(line)) is not None:
            title = f"{match[1]}: {match[2]}".removesuffix(".")
            facts.setdefault("title", title)
    for node in nodes:
        first, _, body = node.partition("\n")
        if not _NODE.match(first):
            continue  # tables of nodes and of local variables
        for line in without_overstrikes(body).split("\n"):
            if _INFO_UNDERLINE.match(line) and lines and (name := lines[-1].strip()):
                headings.append((len(lines) - 1, name))
            elif "::" in line:
                lines.append(_INFO_REFERENCE.sub(r"\1", _INFO_MENU.sub(r"\1: ", line)))
            else:
                lines.append(line)
    return lines or head.split("\n"), headings, facts


INFO_READER = Reader(
    "info",
    (".info",),
    partial(read_marked, media_type="text/x-info", marked=_info_marked),
    sniff=lambda head: bool(_INFO_BEGINNING.match(head)),
    owns=lambda head: bool(_INFO_BEGINNING.match(head)),
)


_PO_LINE = re.compile(
    r'(?:(msgctxt|msgid|msgid_plural|msgstr)(?:\[\d{1,2}\])?[ \t]*)?"((?:[^"\\]|\\.)*)"\s*$'
)
_PO_ESCAPE = re.compile(r"\\(.)")
_PO_SIGNS = {"n": "\n", "t": "\t", "r": ""}
_PO_FACTS = {"Language": "lang", "Last-Translator": "author", "Language-Team": "team"}


def _po_marked(text: str) -> Marked:
    """Return each message followed by its translation; the header has facts."""
    messages: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        match = _PO_LINE.match(line)
        if match is None:
            continue
        if match[1]:
            messages.append((match[1], []))
        if messages:
            messages[-1][1].append(match[2])
    joined = [
        (kind, _PO_ESCAPE.sub(lambda m: _PO_SIGNS.get(m[1], m[1]), "".join(pieces)))
        for kind, pieces in messages
    ]
    header = next((value for kind, value in joined[1:2] if not joined[0][1]), "")
    stated = dict(line.partition(": ")[::2] for line in header.split("\n"))
    facts = {ours: stated[name] for name, ours in _PO_FACTS.items() if stated.get(name)}
    lines: list[str] = []
    for kind, value in joined[2 if header else 0 :]:
        lines += [""] if kind == "msgid" and lines else []
        lines += value.split("\n") if value and kind != "msgctxt" else []
    project, lang = stated.get("Project-Id-Version", ""), facts.get("lang", "")
    title = f"{project} ({lang})" if project and lang else project
    return lines, [], {**facts, "title": title}


PO_READER = Reader(
    "gettext",
    (".po", ".pot"),
    partial(read_marked, media_type="text/x-gettext-translation", marked=_po_marked),
)

"""Source code and config files: plain text, with top-level definitions as sections.

The title is the name of the file, which is how code is spoken of.
"""

from __future__ import annotations

import re
from pathlib import PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import ReaderError
from lpisearch.readers.base import Reader
from lpisearch.readers.encoding import decode_text
from lpisearch.readers.streams import NO_TEXT, whole
from lpisearch.records import Document, Section

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.readers.base import SourceFile
    from lpisearch.records import Problem
    from lpisearch.settings import ReadOptions

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
    r"type|record|object|package|sub|proc|CREATE TABLE|create table)[ \t]+([\w.:$]{1,200})",
)


def read(source: SourceFile, options: ReadOptions) -> Iterator[Document | Problem]:
    """Yield the one document, after what there is to say about its encoding."""
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
    """Yield what is defined on lines that are not indented."""
    start = 0
    for line in text.split("\n"):
        if line[:1].isalpha() and (found := _DEFINITION.match(line)) is not None:
            yield Section(start, "heading", found[1])
        start += len(line) + 1


def sniff(head: bytes) -> bool:
    """Tell a script without a suffix by its first line."""
    return head.startswith((b"#!/", b"#! /"))


READER = Reader("code", tuple(SUFFIXES.split()), read, sniff)

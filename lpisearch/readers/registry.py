"""The list of readers, and the choice of one for a file.

A new reader is one module and one line here; `--format` and the contract tests follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.messages import nearest
from lpisearch.readers import (
    delimited,
    epub,
    html,
    jsonl,
    mail,
    man,
    markdown,
    ooxml,
    opendocument,
    pdf,
    plaintext,
    rtf,
    trec,
    xml,
)
from lpisearch.readers.streams import stated_gzip_damage

if TYPE_CHECKING:
    from lpisearch.options import ReadOptions
    from lpisearch.readers.base import Reader, SourceFile


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        # The order of sniffing: the surest signs first, plain text last.
        pdf.READER,
        rtf.RTF_READER,
        trec.REUTERS_READER,
        trec.TREC_READER,
        trec.SMART_READER,
        html.READER,
        jsonl.JSONL_READER,
        jsonl.JSON_ARRAY_READER,
        man.READER,
        mail.MBOX_READER,
        mail.NEWSGROUPS_READER,
        mail.MAIL_READER,
        markdown.READER,
        plaintext.RST_READER,
        plaintext.ORG_READER,
        delimited.CSV_READER,
        delimited.TSV_READER,
        ooxml.DOCX_READER,
        rtf.DOC_READER,
        ooxml.PPTX_READER,
        ooxml.XLSX_READER,
        opendocument.ODT_READER,
        opendocument.ODP_READER,
        opendocument.ODS_READER,
        epub.READER,
        xml.READER,
        plaintext.YAML_READER,
        plaintext.CODE_READER,
        plaintext.TEXT_READER,
    )
}


def reader_for(source: SourceFile, options: ReadOptions) -> Reader | None:
    """Choose the reader of a file: the option `format`, then its suffix, then its first bytes.

    A file without a suffix (or with a number as suffix, as `cran.all.1400`) is plain text if it is
    text at all, and so is one with a documentation name (`README.Debian`). Other files with an
    unknown suffix are mostly programs: None.
    """
    if options.format != "auto":
        return reader_named(options.format)
    known = _BY_SUFFIX.get(source.suffix)
    if known is not None and known.owns is None:
        return known
    with stated_gzip_damage():
        head = source.head()
    if known is not None and known.owns is not None and known.owns(head):
        return known
    for reader in READERS.values():
        if reader.sniff is not None and reader is not plaintext.TEXT_READER and reader.sniff(head):
            return reader
    is_program = source.suffix and not source.suffix[1:].isdigit()
    if (known or not is_program or _TO_BE_READ.match(source.name)) and plaintext.sniff_text(head):
        return plaintext.TEXT_READER
    return known


def reader_named(name: str) -> Reader:
    """Return a reader by name; raises BadOption, with the nearest name, if there is none."""
    if name in READERS:
        return READERS[name]
    hint = nearest(name, READERS)
    raise BadOption("format", f"unknown format “{name}”{hint}", ["auto", *sorted(READERS)])


_TO_BE_READ = re.compile(
    r"(?:readme|news|changes|changelog|copying|copyright|licen[cs]e|authors|credits|thanks|todo|"
    r"install|history|hacking|contributing)\b",
    re.IGNORECASE,
)
_BY_SUFFIX = {suffix: reader for reader in READERS.values() for suffix in reader.suffixes}

"""The list of readers, and the choice of one for a file.

A new reader is one module and one line here; `--format` and the contract tests follow.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.messages import nearest
from lpisearch.readers import (
    archives,
    delimited,
    html,
    jsonl,
    legacy_office,
    mail,
    man,
    markdown,
    office,
    pdf,
    plaintext,
    trec,
    xml,
)
from lpisearch.readers.base import Reader, SourceFile, stated_gzip_damage
from lpisearch.readers.judgements import is_of_evaluation

if TYPE_CHECKING:
    from lpisearch.options import ReadOptions


READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        # The order of sniffing: the surest signs first, plain text last.
        pdf.READER,
        pdf.IMAGE_READER,
        legacy_office.RTF_READER,
        trec.REUTERS_READER,
        trec.TREC_READER,
        trec.SMART_READER,
        html.READER,
        jsonl.JSONL_READER,
        jsonl.JSON_ARRAY_READER,
        jsonl.PARQUET_READER,
        man.READER,
        mail.MBOX_READER,
        mail.NEWSGROUPS_READER,
        mail.MAIL_READER,
        markdown.READER,
        plaintext.RST_READER,
        plaintext.ASCIIDOC_READER,
        plaintext.ORG_READER,
        plaintext.INFO_READER,
        plaintext.PO_READER,
        delimited.CSV_READER,
        delimited.TSV_READER,
        office.DOCX_READER,
        legacy_office.DOC_READER,
        legacy_office.XLS_READER,
        legacy_office.PPT_READER,
        legacy_office.MSG_READER,
        office.PPTX_READER,
        office.XLSX_READER,
        office.ODT_READER,
        office.ODP_READER,
        office.ODS_READER,
        html.EPUB_READER,
        archives.ZIP_READER,
        archives.TAR_READER,
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
    unknown suffix are mostly programs, and judgements are no documents: None.
    """
    if options.format != "auto":
        return reader_named(options.format)
    known = _by_suffix(source)
    is_plain = known in {None, delimited.TSV_READER, plaintext.TEXT_READER}
    if known is not None and known.owns is None and known.name not in _MAGIC and not is_plain:
        return None if _is_off(known, options) else known
    with stated_gzip_damage():
        head = source.head()
    if is_plain and is_of_evaluation(head):
        return None
    if known is not None and (is_plain or _owns(known, head)):
        return known
    for reader in READERS.values():
        if reader.sniff is not None and reader is not plaintext.TEXT_READER and reader.sniff(head):
            return reader
    is_program = source.suffix and not source.suffix[1:].isdigit()
    may_be_text = known or not is_program or _TO_BE_READ.match(source.name)
    return plaintext.TEXT_READER if may_be_text and plaintext.sniff_text(head) else known


def _by_suffix(source: SourceFile) -> Reader | None:
    known = _BY_SUFFIX.get(source.suffix)
    if known is None:
        known = _BY_SUFFIX.get("".join(PurePath(source.name.lower()).suffixes[-2:]))
    if known is plaintext.TEXT_READER:  # Sphinx publishes its sources as index.rst.txt
        inner = _BY_SUFFIX.get(PurePath(source.stem).suffix.lower())
        return inner if inner is not None and inner in _MARKED else known
    return known


def _owns(reader: Reader, head: bytes) -> bool:
    """Tell whether a file that is named like a format begins like it."""
    if reader.owns is not None:
        return reader.owns(head)
    return head.startswith(_MAGIC[reader.name])


def option_of(name: str) -> str:
    """Return the option with which a file of that name is read, or ""."""
    path = PurePath(name)
    shown = path.stem if path.suffix.lower() == ".gz" else path.name
    reader = _by_suffix(SourceFile(Path(name), shown))
    return "archives" if reader in _ARCHIVES else "ocr" if reader is pdf.IMAGE_READER else ""


def _is_off(reader: Reader, options: ReadOptions) -> bool:
    """Tell whether a format is read only with an option that is not set."""
    if reader is pdf.IMAGE_READER:
        return not options.ocr
    return reader in _ARCHIVES and not options.archives


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
_ARCHIVES = (archives.ZIP_READER, archives.TAR_READER)
_OLE = b"\xd0\xcf\x11\xe0"  # around an encrypted part, and of the old formats
_ZIPPED = ("docx", "pptx", "xlsx", "odt", "odp", "ods", "epub")
# What files begin with; one that is only named so is read as what it is.
_MAGIC = dict.fromkeys(_ZIPPED, (b"PK", _OLE))
_MARKED = (markdown.READER, plaintext.RST_READER, plaintext.ASCIIDOC_READER, plaintext.ORG_READER)
_BY_SUFFIX = {suffix: reader for reader in READERS.values() for suffix in reader.suffixes}

"""Registry of readers, and the choice of a reader for a file.

A new reader is one module and one line here; `--format` and the common checks follow.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.readers import (
    code,
    delimited,
    doc,
    docx,
    epub,
    html,
    json_array,
    jsonl,
    mail,
    man,
    markdown,
    mbox,
    newsgroups,
    odp,
    ods,
    odt,
    org,
    pdf,
    pptx,
    reuters,
    rst,
    rtf,
    smart,
    text,
    trec,
    xlsx,
    xml,
    yaml,
)
from lpisearch.readers.streams import stated_gzip_damage
from lpisearch.wording import nearest

if TYPE_CHECKING:
    from lpisearch.readers.base import Reader, SourceFile
    from lpisearch.settings import ReadOptions

READERS: dict[str, Reader] = {
    reader.name: reader
    for reader in (
        # Content is asked in this order: the surest signs first, plain text last.
        pdf.READER,
        rtf.READER,
        reuters.READER,
        trec.READER,
        smart.READER,
        html.READER,
        jsonl.READER,
        json_array.READER,
        man.READER,
        mbox.READER,
        newsgroups.READER,
        mail.READER,
        markdown.READER,
        rst.READER,
        org.READER,
        delimited.CSV_READER,
        delimited.TSV_READER,
        docx.READER,
        doc.READER,
        pptx.READER,
        xlsx.READER,
        odt.READER,
        odp.READER,
        ods.READER,
        epub.READER,
        xml.READER,
        yaml.READER,
        code.READER,
        text.READER,
    )
}
"""Every format by the name that the option `format` calls it."""


def reader_for(source: SourceFile, options: ReadOptions) -> Reader | None:
    """Choose the reader of a file: as asked, else by its suffix, else by its first bytes.

    A file without a suffix (or with a number for one, as `cran.all.1400`) is plain text if it
    is text at all, and so is one that is called as what is to be read (`README.Debian`); another
    with an unknown suffix is not, since most such files are programs.

    Returns
    -------
    Reader or None
        None: this is no document we know.

    Raises
    ------
    BadOption
        There is no reader of the name that was asked for.
    ReaderError
        The beginning of gzip data is damaged.
    OSError
        The file cannot be read.
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
        if reader.sniff is not None and reader is not text.READER and reader.sniff(head):
            return reader
    is_program = source.suffix and not source.suffix[1:].isdigit()
    if (known or not is_program or _TO_BE_READ.match(source.name)) and text.sniff(head):
        return text.READER
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

"""Ingest options."""

from __future__ import annotations

from dataclasses import dataclass, field

MEBIBYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How files become documents.

    Attributes
    ----------
    format
        "auto" or the name of a reader.
    labels
        "auto" (a field of the document, else the top folder), "folder", "none", the name of
        a field or column, or the path of a CSV file with labels.
    split
        "auto" (a field, else a folder called train, test, …), "folder", "none" or a field name.
    id_field, title_field, text_field
        Names of fields or columns; "" looks for the usual names.
    label_separators
        Characters that part the labels in a cell of a CSV, TSV or label file.
    ocr
        Languages of tesseract, such as "eng" or "deu+eng", in which pages of PDF files that are
        images are read; "" does not read them.
    max_document_bytes
        A document larger than this is refused, so that one file cannot take all memory. Of a
        page or a mail, of which the text is a part, twice as much is read.
    """

    format: str = "auto"
    labels: str = "auto"
    split: str = "auto"
    id_field: str = ""
    title_field: str = ""
    text_field: str = ""
    label_separators: str = ";|"
    ocr: str = ""
    max_document_bytes: int = 32 * MEBIBYTE

    @property
    def max_page_bytes(self) -> int:
        """How much is read of a file or a message that has markup or attachments."""
        return 2 * self.max_document_bytes


@dataclass(frozen=True, slots=True)
class FindOptions:
    """Which files of a folder are meant.

    Attributes
    ----------
    exclude
        Globs of files and folders to leave out, as a line of a `.gitignore` would.
    no_ignore
        Take in what `.gitignore` and `.lpisearchignore` leave out, and packages and caches.
    hidden
        Take in files and folders whose names begin with a dot.
    follow_links
        Follow symbolic links that are found in folders; one that is named is followed always.
    """

    exclude: tuple[str, ...] = ()
    no_ignore: bool = False
    hidden: bool = False
    follow_links: bool = False


@dataclass(frozen=True, slots=True)
class IngestOptions:
    """What `lpisearch ingest` was asked to do.

    Attributes
    ----------
    read
        How files become documents.
    find
        Which files of a folder are meant.
    prune
        Remove documents whose source file, or whose record within it, is gone.
    language
        Of the stemmer and the stop words; "auto" keeps what the library has, and finds it in the
        documents of the first ingest.
    wait_seconds
        How long to wait for another process that is writing.
    batch_documents
        How many documents one transaction may hold: what a kill can cost.
    ids
        "file": ids that files state are kept apart by file; "global": one id is one document.
    retry
        Read files again that failed before and have not changed.
    """

    read: ReadOptions = field(default_factory=ReadOptions)
    find: FindOptions = field(default_factory=FindOptions)
    prune: bool = False
    language: str = "auto"
    wait_seconds: float = 30.0
    batch_documents: int = 1000
    ids: str = "file"
    retry: bool = False

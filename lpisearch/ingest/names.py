"""Ids, labels, splits from paths and label files."""

from __future__ import annotations

import csv
import json
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.options import ReadOptions
from lpisearch.readers.fields import labels_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from lpisearch.model.documents import Document, Source


_SPLITS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_SPLITS |= {"dev": "dev", "validation": "validation", "valid": "validation", "unused": "unused"}
_LABEL_FILE_SUFFIXES = (".csv", ".tsv")
_KEY_COLUMNS = ("path", "id", "file", "filename", "document", "name")
_LABEL_COLUMNS = ("labels", "label", "categories", "category", "topics", "topic", "class")
_OCR = "+"  # between the fingerprint of the other options and the languages
_FIRST_OPTIONS = {"format", "labels", "split", "id_field", "title_field", "text_field"}
_DEFAULTS = ReadOptions()


@dataclass(frozen=True, slots=True)
class FileLabels:
    """What a file of labels says of one document."""

    labels: tuple[str, ...]
    split: str = ""


@dataclass(frozen=True)
class LabelRules:
    """Decides on labels and split of a document from options, folders and a file of labels.

    Attributes
    ----------
    options
        As the user gave them.
    given
        What the file of labels says, by document id, path or file name; empty without one.
    """

    options: ReadOptions
    given: Mapping[str, FileLabels] = field(default_factory=dict)

    @classmethod
    def of(cls, options: ReadOptions) -> LabelRules:
        """Read the file of labels, if the options name one."""
        path = label_file(options)
        return cls(options, read_label_file(path, options.label_separators) if path else {})

    @cached_property
    def fingerprint(self) -> str:
        """A text that changes when files have to be read again because options changed."""
        # A later option counts where it is set: else a new program would read all files anew.
        facts = {
            name: value
            for name, value in asdict(self.options).items()
            if name in _FIRST_OPTIONS or value != getattr(_DEFAULTS, name)
        }
        for name in ("max_document_bytes", "ocr"):
            facts.pop(name, None)
        given = sorted((key, entry.labels, entry.split) for key, entry in self.given.items())
        text = json.dumps([facts, given], sort_keys=True)
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        return f"{digest}{_OCR}{self.options.ocr}" if self.options.ocr else digest

    def is_current(self, source: Source) -> bool:
        """Tell whether a file need not be read again for the options of this run.

        What was read by optical recognition stays so in a run without it; a run with it reads the
        PDF files that were read without.
        """
        then, _, ocr = source.read_options.partition(_OCR)
        asked = self.options.ocr
        same_ocr = not asked or ocr == asked or source.format != "pdf"
        return then == self.fingerprint.partition(_OCR)[0] and same_ocr

    def apply(self, document: Document, ids: tuple[str, ...], relative: str) -> Document:
        """Return the document with the labels and the split that it is to have."""
        labels, split = document.labels, document.split
        folders = tuple(relative.split("/")[:-1])
        # An exported document says where it came from: where the export lies means nothing.
        at_home = not document.path
        if self.options.labels == "folder" or (
            at_home and self.options.labels == "auto" and not labels
        ):
            labels = top_folder(folders)
        if self.options.split == "folder" or (
            at_home and self.options.split == "auto" and not split
        ):
            split = split_folder(folders)
        if self.given:
            keys = (*ids, relative, PurePath(relative).name, PurePath(relative).stem)
            entry = next((self.given[key] for key in keys if key in self.given), FileLabels(()))
            labels, split = entry.labels, entry.split or split
        if labels == document.labels and split == document.split:
            return document
        return replace(document, labels=labels, split=split)


def label_file(options: ReadOptions) -> Path | None:
    """Return the path of the file of labels, if `--labels` names one."""
    if not options.labels.lower().endswith(_LABEL_FILE_SUFFIXES):
        return None
    return Path(options.labels).expanduser().absolute()


def top_folder(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first folder that is not the name of a split, as the one label."""
    return next(((name,) for name in folders if not split_folder((name,))), ())


def split_folder(folders: tuple[str, ...]) -> str:
    """Return the split that a folder stands for: `train`, `corpus-test`, …; or ""."""
    for name in folders:
        word = name.lower().replace("_", "-").rsplit("-", 1)[-1]
        if word in _SPLITS:
            return _SPLITS[word]
    return ""


@dataclass(frozen=True, slots=True)
class FileNames:
    """What the files of a run may be called, whatever the order in which they are named.

    Attributes
    ----------
    shared
        Names that more than one file of the run would have: none of them gets it.
    """

    shared: frozenset[str] = frozenset()

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]]) -> FileNames:
        """Look at all files of a run, each as its path below its root, and the root."""
        counts = Counter(name for file in files for name in set(_names(*file)))
        return cls(frozenset(name for name, number in counts.items() if number > 1))

    def derived(self, relative: str, root: str, position: int | None) -> tuple[str, ...]:
        """Return what a document without an id may be called, the shortest first."""
        suffix = "" if position is None else f"#{position}"
        return tuple(f"{name}{suffix}" for name in self._free(relative, root))

    def stated(self, name: str, relative: str, root: str) -> tuple[str, ...]:
        """Return what a document with an id may be called: that, else the file and that."""
        return (name, *(f"{file}:{name}" for file in self._free(relative, root)))

    @staticmethod
    def former(name: str, path: str) -> tuple[str, ...]:
        """Return what a document with an id was perhaps called, from whichever folder."""
        parts = PurePath(path).parts
        return tuple(f"{'/'.join(parts[at:])}:{name}" for at in range(1, len(parts)))

    def _free(self, relative: str, root: str) -> Iterator[str]:
        """Yield the names of a file that no other file has; its absolute path is one."""
        return (name for name in _names(relative, root) if name not in self.shared)


@lru_cache(maxsize=1024)
def _names(relative: str, root: str) -> tuple[str, str, str]:
    absolute = (PurePath(root) / relative).as_posix()
    return relative, f"{PurePath(root).name}/{relative}", absolute


def read_label_file(
    path: Path, separators: str = _DEFAULTS.label_separators
) -> dict[str, FileLabels]:
    """Read a CSV or TSV file with a column of paths or ids, and one of labels."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _given_labels(path, csv.DictReader(stream, delimiter=delimiter), separators)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadOption("labels", f"cannot read {path} ({error})") from error


def _given_labels(path: Path, table: csv.DictReader[str], separators: str) -> dict[str, FileLabels]:
    columns = {name.strip().lower(): name for name in table.fieldnames or ()}
    key = next((columns[name] for name in _KEY_COLUMNS if name in columns), None)
    labels = next((columns[name] for name in _LABEL_COLUMNS if name in columns), None)
    if key is None or labels is None:
        has = ", ".join(columns) or "none"
        raise BadOption("labels", f"{path} needs the columns path (or id) and label; it has: {has}")
    split = columns.get("split", "")
    return {
        row[key]: FileLabels(labels_of(row[labels], labels, separators), row.get(split) or "")
        for row in table
        if row[key]
    }

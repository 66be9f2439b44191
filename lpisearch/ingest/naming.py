"""What a document is called and labelled by the place where its file lies."""

from __future__ import annotations

import csv
import json
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.records import Document
    from lpisearch.settings import ReadOptions

_SPLITS = {"train": "train", "training": "train", "test": "test", "testing": "test"}
_SPLITS |= {"dev": "dev", "validation": "validation", "valid": "validation", "unused": "unused"}
_LABEL_FILE_SUFFIXES = (".csv", ".tsv")
_KEY_COLUMNS = ("path", "id", "file", "filename", "document", "name")
_LABEL_COLUMNS = ("labels", "label", "categories", "category", "topics", "topic", "class")
_SEPARATORS = str.maketrans("|", ";")


@dataclass(frozen=True, slots=True)
class GivenLabels:
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
    given: Mapping[str, GivenLabels] = field(default_factory=dict)

    @classmethod
    def of(cls, options: ReadOptions) -> LabelRules:
        """Read the file of labels, if the options name one."""
        path = label_file(options)
        return cls(options, read_label_file(path) if path else {})

    @cached_property
    def fingerprint(self) -> str:
        """A text that changes when files have to be read again because options changed."""
        facts = asdict(self.options)
        del facts["max_document_bytes"]
        given = sorted((key, entry.labels, entry.split) for key, entry in self.given.items())
        text = json.dumps([facts, given], sort_keys=True)
        return blake2b(text.encode(), digest_size=8).hexdigest()

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
            entry = next((self.given[key] for key in keys if key in self.given), GivenLabels(()))
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


def derived_ids(relative: str, root: str, position: int | None) -> tuple[str, ...]:
    """Return what a document without an id may be called, the shortest first."""
    suffix = "" if position is None else f"#{position}"
    absolute = (PurePath(root) / relative).as_posix()
    folder = PurePath(root).name
    return tuple(f"{name}{suffix}" for name in (relative, f"{folder}/{relative}", absolute))


def read_label_file(path: Path) -> dict[str, GivenLabels]:
    """Read a CSV or TSV file with a column of paths or ids, and one of labels.

    Raises
    ------
    BadOption
        The file cannot be read, or has no such columns.
    """
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _given_labels(path, csv.DictReader(stream, delimiter=delimiter))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadOption("labels", f"cannot read {path} ({error})") from error


def _given_labels(path: Path, table: csv.DictReader[str]) -> dict[str, GivenLabels]:
    columns = {name.strip().lower(): name for name in table.fieldnames or ()}
    key = next((columns[name] for name in _KEY_COLUMNS if name in columns), None)
    labels = next((columns[name] for name in _LABEL_COLUMNS if name in columns), None)
    if key is None or labels is None:
        has = ", ".join(columns) or "none"
        raise BadOption(
            "labels", f"{path} needs a column path (or id) and a column label; it has: {has}"
        )
    split = columns.get("split", "")
    return {
        row[key]: GivenLabels(_split_labels(row[labels] or ""), row.get(split) or "")
        for row in table
        if row[key]
    }


def _split_labels(cell: str) -> tuple[str, ...]:
    names = (name.strip() for name in cell.translate(_SEPARATORS).split(";"))
    return tuple(dict.fromkeys(name for name in names if name))

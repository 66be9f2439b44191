"""Ids, labels and splits from paths and label files."""

from __future__ import annotations

import csv
import json
import os
from collections import Counter
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from lpisearch.errors import BadOption
from lpisearch.options import ReadOptions
from lpisearch.readers.records import labels_of

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
_WITH_IMAGES = {"pdf", "image", "zip", "tar"}
_DEFAULTS = ReadOptions()
STATED = "stated"
_LARGE_FOLDER = 5
_MOST_FOLDERS = 50
_COVERED = 0.9  # of the documents


@dataclass(frozen=True, slots=True)
class FileLabels:
    """The labels and split of one document in a label file."""

    labels: tuple[str, ...]
    split: str = ""


@dataclass(frozen=True)
class LabelRules:
    """Determines labels and split of a document from options, folders and a label file."""

    options: ReadOptions
    from_file: Mapping[str, FileLabels] = field(default_factory=dict)  # by id, path or file name
    by_root: Mapping[str, LabelRules] = field(default_factory=dict)  # of folders known before

    @classmethod
    def of(cls, options: ReadOptions, known: Iterable[Source] = ()) -> LabelRules:
        """Read the label file, if the options name one; look how known folders were labelled.

        `auto` is `stated`, or what a folder was ingested with before: `folder`, or in a library of
        an earlier version `auto`, which took folders where a document stated nothing.
        """
        path = label_file(options)
        entries = read_label_file(path, options.label_separators) if path else {}
        ways = [cls(way, entries) for way in _ways(options)]
        fingerprints: dict[str, Counter[str]] = {}
        for source in known if len(ways) > 1 else ():
            fingerprint = source.read_options.partition(_OCR)[0]
            fingerprints.setdefault(source.root, Counter())[fingerprint] += 1
        by_fingerprint = {way.fingerprint.partition(_OCR)[0]: way for way in ways}
        by_root = {}
        for root, counts in fingerprints.items():
            former = (by_fingerprint.get(one) for one, _ in counts.most_common())
            by_root[root] = next(filter(None, former), ways[0])
        return replace(ways[0], by_root=by_root)

    def at(self, root: str, former: str = "") -> LabelRules:
        """Return the rules of a folder: its own, of one around it, or of its `former` place."""
        if not self.by_root:
            return self
        around = (
            folder for folder in self.by_root if f"{root}{os.sep}".startswith(f"{folder}{os.sep}")
        )
        return self.by_root.get(max(around, key=len, default=former), self)

    @cached_property
    def fingerprint(self) -> str:
        """A text that changes when changed options require files to be read again."""
        # Newer options count only if set: a new version must not read all files again.
        facts = {
            name: value
            for name, value in asdict(self.options).items()
            if name in _FIRST_OPTIONS or value != getattr(_DEFAULTS, name)
        }
        for name in ("archives", "max_document_bytes", "ocr"):
            facts.pop(name, None)
        entries = sorted((key, entry.labels, entry.split) for key, entry in self.from_file.items())
        text = json.dumps([facts, entries], sort_keys=True)
        digest = blake2b(text.encode(), digest_size=8).hexdigest()
        return f"{digest}{_OCR}{self.options.ocr}" if self.options.ocr else digest

    def is_current(self, source: Source) -> bool:
        """Tell whether a file need not be read again with the options of this run.

        Text from optical character recognition stays valid in a run without it; a run with it reads
        PDF files again that were read without.
        """
        if source.read_options == self.fingerprint:
            return True
        fingerprint, _, ocr = source.read_options.partition(_OCR)
        same_ocr = self.options.ocr in {"", ocr} or source.format not in _WITH_IMAGES
        return fingerprint == self.fingerprint.partition(_OCR)[0] and same_ocr

    @property
    def ignores_folders(self) -> bool:
        """Whether labels come from what files state alone."""
        return self.options.labels == STATED and not self.from_file

    def apply(self, document: Document, ids: tuple[str, ...], relative: str) -> Document:
        """Return the document with its final labels and split."""
        labels, split = document.labels, document.split
        folders = tuple(relative.split("/")[:-1])
        # An exported document has its original path; the folder of the export means nothing.
        is_original = not document.path
        if self.options.labels == "folder" or (
            is_original and self.options.labels == "auto" and not labels
        ):
            labels = top_folder(folders)
        if self.options.split == "folder" or (
            is_original and self.options.split == "auto" and not split
        ):
            split = split_folder(folders)
        if self.from_file:
            keys = (*ids, relative, PurePath(relative).name, PurePath(relative).stem)
            entries = (self.from_file[key] for key in keys if key in self.from_file)
            entry = next(entries, FileLabels(()))
            labels, split = entry.labels, entry.split or split
        if labels == document.labels and split == document.split:
            return document
        return replace(document, labels=labels, split=split)


def _ways(options: ReadOptions) -> list[ReadOptions]:
    """Return what `auto` may mean for labels and split, the usual meaning first."""
    meanings = (STATED, "auto", "folder")
    labels, splits = (
        meanings if one == "auto" else (one,) for one in (options.labels, options.split)
    )
    return [replace(options, labels=label, split=split) for label in labels for split in splits]


class FolderCensus:
    """Counts new documents by their top folder, to tell whether folders look like labels."""

    def __init__(self) -> None:
        self._folders: Counter[str] = Counter()
        self._documents = 0
        self._labelled = False

    def see(self, document: Document, relative: str) -> None:
        """Count a document."""
        self._documents += 1
        self._labelled = self._labelled or bool(document.labels)
        self._folders.update(top_folder(tuple(relative.split("/")[:-1])))

    @property
    def labels(self) -> list[str]:
        """The folders that look like labels, largest first; [] for fewer than two."""
        large = [name for name, count in self._folders.most_common() if count >= _LARGE_FOLDER]
        covered = sum(self._folders[name] for name in large)
        some = 1 < len(large) <= _MOST_FOLDERS and covered >= _COVERED * self._documents
        return large if some and not self._labelled else []


def label_file(options: ReadOptions) -> Path | None:
    """Return the path of the label file, if `--labels` names one."""
    if not options.labels.lower().endswith(_LABEL_FILE_SUFFIXES):
        return None
    return Path(options.labels).expanduser().absolute()


def top_folder(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Return the first folder whose name is not a split, as the only label."""
    return next(((name,) for name in folders if not split_folder((name,))), ())


def split_folder(folders: tuple[str, ...]) -> str:
    """Return the split that a folder name means (`train`, `corpus-test`, …), or ""."""
    for name in folders:
        word = name.lower().replace("_", "-").rsplit("-", 1)[-1]
        if word in _SPLITS:
            return _SPLITS[word]
    return ""


@dataclass(frozen=True, slots=True)
class FileNames:
    """The ids of the files of a run, whatever the order of its arguments."""

    shared: frozenset[str] = frozenset()  # names of more than one file, which no file gets

    @classmethod
    def of(cls, files: Iterable[tuple[str, str]]) -> FileNames:
        """Collect all files of a run, each as its path below its root, and the root."""
        counts = Counter(name for file in files for name in set(_names(*file)))
        return cls(frozenset(name for name, number in counts.items() if number > 1))

    def inside(self, part: str, relative: str, root: str) -> tuple[str, ...]:
        """Return possible ids of a document inside a file, shortest first."""
        return tuple(f"{name}{part}" for name in self._free(relative, root))

    def derived(self, relative: str, root: str, position: int | None) -> tuple[str, ...]:
        """Return possible ids of a document without a stated one, shortest first."""
        suffix = "" if position is None else f"#{position}"
        return tuple(f"{name}{suffix}" for name in self._free(relative, root))

    def stated(self, name: str, relative: str, root: str) -> tuple[str, ...]:
        """Return possible ids of a document with a stated one: that, then with its file."""
        return (name, *(f"{file}:{name}" for file in self._free(relative, root)))

    @staticmethod
    def former(name: str, path: str) -> tuple[str, ...]:
        """Return possible former ids of a document, from any folder."""
        parts = PurePath(path).parts
        return tuple(f"{'/'.join(parts[at:])}:{name}" for at in range(1, len(parts)))

    def _free(self, relative: str, root: str) -> Iterator[str]:
        """Yield the names that belong to one file only; its absolute path is one."""
        return (name for name in _names(relative, root) if name not in self.shared)


@lru_cache(maxsize=1024)
def _names(relative: str, root: str) -> tuple[str, str, str]:
    name, folder = _of_root(root)
    absolute = f"{folder}{relative}" if folder else PurePath(relative).as_posix()
    return relative, f"{name}/{relative}", absolute


@lru_cache(maxsize=64)
def _of_root(root: str) -> tuple[str, str]:
    """Return the name of a folder, and what its files' absolute paths begin with."""
    folder = PurePath(root)
    return folder.name, f"{folder.as_posix().rstrip('/')}/" if root else ""


def read_label_file(
    path: Path, separators: str = _DEFAULTS.label_separators
) -> dict[str, FileLabels]:
    """Read a CSV or TSV file with a column of paths or ids and one of labels."""
    delimiter = "\t" if path.suffix.lower() == ".tsv" else ","
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _labels_in(path, csv.DictReader(stream, delimiter=delimiter), separators)
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise BadOption("labels", f"cannot read {path} ({error})") from error


def _labels_in(path: Path, table: csv.DictReader[str], separators: str) -> dict[str, FileLabels]:
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

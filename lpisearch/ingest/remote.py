"""JSON Lines and Parquet files, local or via fsspec (s3://, gs://, https://).

What lies elsewhere is brought here before it is read, so that the readers of every ingest read it.
Records of a Parquet file become lines of JSON on the way.
"""

from __future__ import annotations

import glob
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any
from urllib.parse import urlsplit, urlunsplit

from lpisearch.errors import BadOption, LpiSearchError, NothingThere, ReaderError

if TYPE_CHECKING:
    from collections.abc import Iterable

_READ = (".jsonl", ".ndjson", ".json", ".jsonl.gz", ".ndjson.gz", ".json.gz", ".parquet")
_PARQUET = ".parquet"
_AT_ONCE = 1000
_WILD = "*?["


@dataclass(frozen=True, slots=True)
class RemoteFile:
    """A file that is to be read.

    Attributes
    ----------
    url
        For those who open it: a path, or an address.
    name
        Relative to what all files of a run have in common.
    size
        In bytes.
    mark
        What changes when its content does, as far as its store says.
    is_here
        Whether it is a file of this machine, or of a folder that all who work share.
    """

    url: str
    name: str
    size: int
    mark: str
    is_here: bool

    @property
    def is_parquet(self) -> bool:
        """Whether its records are to become lines of JSON."""
        return self.url.endswith(_PARQUET)


def find_files(pattern: str) -> list[RemoteFile]:
    """Return the files that a path, a folder, a glob or an address means, by name.

    Raises
    ------
    NothingThere, BadOption
    """
    scheme = pattern.partition("://")[0] if "://" in pattern else ""
    if scheme in {"", "file"}:
        found = list(_local(pattern.removeprefix("file://")))
    else:
        found = list(_remote(pattern, scheme))
    if not found:
        raise NothingThere(said_of(pattern))
    return sorted(found, key=lambda file: PurePosixPath(file.name).parts)


def said_of(address: str) -> str:
    """Return an address without what only its owner may know."""
    if "://" not in address:
        return address
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def brought_here(file: RemoteFile, folder: Path) -> Path:
    """Return a path that readers read: the file itself, or a copy in a folder.

    Raises
    ------
    ReaderError
    """
    if file.is_here and not file.is_parquet:
        return Path(file.url)
    names = [part for part in PurePosixPath(file.name).parts if part not in {"..", "/"}]
    target = folder.joinpath(*names)
    if file.is_parquet:
        target = target.with_suffix(".jsonl")
    target.parent.mkdir(parents=True, exist_ok=True)
    try:
        with _opened(file) as stream:
            if file.is_parquet:
                _write_lines(stream, target)
            else:
                with target.open("wb") as copy:
                    shutil.copyfileobj(stream, copy, 1 << 20)
    except LpiSearchError:
        raise
    except Exception as error:  # stores raise errors of libraries of their own
        raise ReaderError(f"{file.name} cannot be read: {error}") from error
    return target


def _local(pattern: str) -> Iterable[RemoteFile]:
    named = os.path.abspath(os.path.expanduser(pattern))  # noqa: PTH100, PTH111 (globs are no paths)
    base = Path(_base(named))
    if any(sign in pattern for sign in _WILD) and not base.is_file():
        paths = [Path(each) for each in glob.glob(named, recursive=True)]  # noqa: PTH207
    elif base.is_dir():
        paths = [path for path in base.rglob("*") if path.name.endswith(_READ)]
    else:
        paths, base = [base], base.parent
    for path in paths:
        if path.is_file():
            facts = path.stat()
            name = path.relative_to(base).as_posix()
            yield RemoteFile(str(path), name, facts.st_size, str(facts.st_mtime_ns), is_here=True)


def _remote(pattern: str, scheme: str) -> Iterable[RemoteFile]:
    system, path = _system(pattern, scheme)
    base = _base(path)
    try:
        if any(sign in path for sign in _WILD):
            found = system.glob(path, detail=True)
        elif system.isdir(path):
            found = {
                name: each
                for name, each in system.find(path, detail=True).items()
                if name.endswith(_READ)
            }
        else:
            found, base = {path: system.info(path)}, path.rpartition("/")[0]
    except FileNotFoundError:
        return
    except Exception as error:  # stores raise errors of libraries of their own
        raise BadOption("source", f"Cannot list {said_of(pattern)}: {error}") from error
    for name, facts in found.items():
        if facts.get("type", "file") == "file":
            mark = str(facts.get("ETag") or facts.get("mtime") or facts.get("LastModified") or "")
            relative = name.removeprefix(base).lstrip("/")
            url = system.unstrip_protocol(name)
            yield RemoteFile(url, relative, int(facts.get("size") or 0), mark, is_here=False)


def _base(path: str) -> str:
    """Return the folder of a glob that is the same for all that it means."""
    parts = path.split("/")
    wild = next((at for at, part in enumerate(parts) if any(sign in part for sign in _WILD)), None)
    return path if wild is None else "/".join(parts[:wild])


def _system(address: str, scheme: str) -> tuple[Any, str]:
    try:
        import fsspec

        system, path = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        said = "an fsspec package that is not installed, such as s3fs or gcsfs"
        raise BadOption("source", f"{scheme}:// needs {said}: {error}") from error
    return system, str(path)


def _opened(file: RemoteFile) -> IO[bytes]:
    if file.is_here:
        return Path(file.url).open("rb")
    system, path = _system(file.url, file.url.partition("://")[0])
    stream: IO[bytes] = system.open(path, "rb")
    return stream


def _write_lines(stream: IO[bytes], target: Path) -> None:
    """Write the records of a Parquet file as lines of JSON."""
    parquet = need_parquet()
    with target.open("w", encoding="utf-8") as lines:
        for batch in parquet.ParquetFile(stream).iter_batches(batch_size=_AT_ONCE):
            for record in batch.to_pylist():
                lines.write(json.dumps(record, default=str, ensure_ascii=False) + "\n")


def need_parquet() -> Any:
    """Return what reads Parquet.

    Raises
    ------
    BadOption
    """
    try:
        from pyarrow import parquet
    except ImportError as error:
        said = "Parquet files need pyarrow: pip install 'lpisearch[cluster]'"
        raise BadOption("source", said) from error
    return parquet

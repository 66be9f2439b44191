"""Index folders: manifest, arrays, verification.

A folder is written under a temporary name, synced, and renamed, so that readers find the old one or
the new one. Arrays are memory-mapped and never unpickled. The manifest records type, shape and
SHA-256 of every array, so that truncated, changed or newer folders are refused; its own SHA-256 is
part of the folder's name.

Hashing every byte before each query would take longer than the query. So whoever has written and
hashed the files records their size, times and inode. While these match, files are not read when the
index is opened; otherwise, as after copying or restoring an index, the next opening hashes them all
and records the facts again. `lpisearch doctor` always hashes, and so finds silent disk errors.
"""

from __future__ import annotations

import errno
import json
import math
import os
import re
import secrets
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass, field, fields, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

from lpisearch.errors import (
    IndexDamaged,
    IndexNotHere,
    IndexOutdated,
    IndexTooNew,
    IndexUnreadable,
    IndexUnwritable,
    SubspaceError,
)
from lpisearch.files import (
    ANYONE,
    create,
    folder_mode,
    mode_of,
    open_regular,
    sync_folder,
    whole_file,
)
from lpisearch.messages import system_reason
from lpisearch.model.reports import BuiltIndex
from lpisearch.options import IndexSpec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    Array = NDArray[Any]


def file_digest(path: Path, start: int = 0, end: int | None = None) -> str:
    """Return the SHA-256 of a file, or of a part of it."""
    digest = sha256()
    with open_regular(path) as stream:
        stream.seek(start)
        remaining = os.fstat(stream.fileno()).st_size - start if end is None else end - start
        while block := stream.read(min(remaining, _READ_AT_ONCE)):
            digest.update(block)
            remaining -= len(block)
    return digest.hexdigest()


_READ_AT_ONCE = 1 << 20


_PARTIAL = ".partial-"
# The folder may contain files of others: only our own names are removed.
_OURS = re.compile(r"[\w.][\w.-]*-[0-9a-f]{12}")
_ARRAY_NAME = re.compile(r"\w{1,100}", re.ASCII)


def check_writable(parent: Path) -> None:
    """Refuse a folder that cannot be written, before an index is computed for it."""
    if parent.exists() and not parent.is_dir():
        raise IndexUnwritable(parent, "it is not a folder")
    folders = (parent, *parent.absolute().parents)
    nearest = next((folder for folder in folders if folder.exists()), parent)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise IndexUnwritable(parent, os.strerror(errno.EACCES))


def publish(
    parent: Path,
    manifest: Manifest,
    arrays: Mapping[str, Array],
    unchanged: Mapping[str, Path] | None = None,
    mode: int = ANYONE,
    *,
    rows: Mapping[str, Array] | None = None,
) -> Path:
    """Write an index as a new folder and return it.

    `unchanged` has files of an earlier version by name, which are linked, not copied, nor read if
    the manifest has their facts; `rows` are appended to some of them. `mode` is that of the
    library's file.
    """
    try:
        parent.mkdir(folder_mode(mode), parents=True, exist_ok=True)
        partial = parent / f"{_PARTIAL}{secrets.token_hex(6)}"
        partial.mkdir(folder_mode(mode))
    except OSError as error:
        raise IndexUnwritable(parent, error.strerror or str(error)) from error
    try:
        facts = {
            name: _write(partial / f"{name}.npy", _narrowed(name, array), mode)
            for name, array in arrays.items()
        }
        for name, path in (unchanged or {}).items():
            facts[name] = _link(path, partial / f"{name}.npy", manifest.arrays.get(name), mode)
        for name, more in (rows or {}).items():
            if len(more):
                facts[name] = _extend(partial / f"{name}.npy", facts[name], more, mode)
        text = replace(manifest, arrays=facts).as_text().encode()
        _write_bytes(partial / MANIFEST_FILE, text, mode)
        sync_folder(partial)
        target = parent / folder_name(manifest.name, text)
        if not _is_sound(target):  # an intact folder of this name is equal, and may be in use
            shutil.rmtree(target, ignore_errors=True)
            partial.rename(target)
        sync_folder(parent)
    except OSError as error:
        raise IndexUnwritable(parent, error.strerror or str(error)) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return target


def open_folder(folder: Path, *, verify: bool = True) -> tuple[Manifest, dict[str, Array]]:
    """Map the arrays of an index folder; `verify` compares their SHA-256 and looks at values."""
    from lpisearch.index.consistency import misfit, wrong_values

    manifest = Manifest.read(folder)
    check_sizes(folder, manifest)
    arrays = {}
    for name, facts in manifest.arrays.items():
        path = folder / f"{name}.npy"
        try:
            changed = verify and not facts.describes(path)
        except OSError as error:
            raise unreadable(folder, path.name, error) from error
        if changed:
            raise IndexDamaged(folder, f"{path.name} is corrupt")
        arrays[name] = _map(path, facts, folder)
    if damage := misfit(arrays) or (verify and wrong_values(arrays)):
        raise IndexDamaged(folder, damage)
    return manifest, arrays


def sweep(parent: Path, keep: set[str]) -> None:
    """Remove folders without an entry: superseded ones, and remains of killed runs."""
    with suppress(OSError):  # the next sweep tries again
        for path in parent.iterdir():
            if path.name not in keep and is_folder_name(path.name) and _has_only_ours(path):
                shutil.rmtree(path, ignore_errors=True)


def is_folder_name(name: str) -> bool:
    """Tell whether a folder of an index can have this name, which is a single component."""
    return _OURS.fullmatch(name) is not None


def _has_only_ours(folder: Path) -> bool:
    """Tell whether a folder contains nothing but files of an index, or such a folder."""
    return (
        folder.is_dir()
        and not folder.is_symlink()
        and all(
            path.suffix in {".npy", ".partial"}
            or path.name in {MANIFEST_FILE, VERIFICATION_FILE}
            or (is_folder_name(path.name) and _has_only_ours(path))
            for path in folder.iterdir()
        )
    )


def _is_sound(folder: Path) -> bool:
    try:
        open_folder(folder)
    except IndexUnreadable:  # its state is unknown, and it may be in use
        raise
    except SubspaceError:
        return False
    return True


def _is_known(placement: object) -> bool:
    """Tell whether this version has a placement rule; NumPy is imported only to look."""
    if placement == "":
        return True
    from lpisearch.methods.placement import PLACEMENTS

    return placement in [*PLACEMENTS]  # a list, as the value may be unhashable


def _map(path: Path, facts: ArrayFacts, folder: Path) -> Array:
    try:
        with open_regular(path) as stream:
            array = _mapped(stream, facts.shape[0] if facts.appended else None)
    except Exception as error:  # NumPy's header parser raises anything that Python's does
        raise unreadable(folder, path.name, error) from error
    if (array.dtype.str, array.shape) != (facts.dtype, facts.shape):
        raise IndexDamaged(folder, f"{path.name} has the wrong type or shape")
    return array


def _mapped(stream: BinaryIO, rows: int | None = None) -> Array:
    """Map the array of an open file, or read a small one; never unpickles.

    A mapped array keeps its file open, and many systems allow a process 1,024 open files. The
    header has the rows of the time when it was written; `rows` includes those appended since.
    """
    import numpy as np

    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0
    if version != (1, 0):
        read = np.lib.format.read_array_header_2_0
    shape, is_fortran, dtype = read(stream)
    if dtype.hasobject:
        raise ValueError("it contains objects")
    if rows is not None:
        shape = (rows, *shape[1:])
    order: Literal["F", "C"] = "F" if is_fortran else "C"
    size = math.prod(shape) * dtype.itemsize
    if 0 <= size <= _SMALL:
        return np.ndarray(shape, dtype, stream.read(size), order=order)
    return np.memmap(stream, dtype, "r", stream.tell(), shape, order)


def _write(path: Path, array: Array, mode: int) -> ArrayFacts:
    import numpy as np

    with create(path, mode) as stream:
        np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
        stream.flush()
        os.fsync(stream.fileno())
    return _facts(path)


# What is stored in the least type that has all its numbers, by how names end. Where lists start is
# subtracted from where they end, so it keeps its sign.
_STARTS = "starts"
_NARROWED = (_STARTS, "posting_places", "posting_counts", "strongest_counts", "sequence_terms")


def _narrowed(name: str, array: Array) -> Array:
    import numpy as np

    if not name.endswith(_NARROWED):
        return array
    kinds = (np.int32,) if name.endswith(_STARTS) else (np.uint8, np.uint16, np.int32)
    fits = (kind for kind in kinds if array.max(initial=0) <= np.iinfo(kind).max)
    return array.astype(next(fits, np.int64), copy=False)


def _link(source: Path, target: Path, facts: ArrayFacts | None, mode: int) -> ArrayFacts:
    if facts is None and target.stem.endswith(_NARROWED):
        import numpy as np

        return _write(target, _narrowed(target.stem, np.load(source, mmap_mode="r")), mode)
    if facts is None or source.stat().st_size == facts.size:  # else more may be another folder's
        with suppress(OSError):  # a file system without links
            os.link(source, target)
    if not target.exists():
        shutil.copy(source, target)
    elif facts is not None:
        return facts
    with target.open("rb+") as stream:  # a build's new file may not be on disk yet
        if facts is not None:
            stream.truncate(facts.size)
        os.fsync(stream.fileno())
    return facts or _facts(target)


def _extend(path: Path, facts: ArrayFacts, rows: Array, mode: int) -> ArrayFacts:
    """Append rows to an array file, and return the facts of the longer array.

    A process that has mapped the file, or another folder that links it, keeps the rows it had. If
    its type is too small for the rows, the file is rewritten.
    """
    import numpy as np

    data = np.ascontiguousarray(rows, np.dtype(facts.dtype))
    open_regular(path).close()  # which refuses a link
    if rows.shape[1:] != facts.shape[1:]:
        raise IndexDamaged(path.parent, f"{path.name} has the wrong type or shape")
    if data.dtype.kind in "iu" and not np.array_equal(data, rows):
        before = np.array(_map(path, facts, path.parent))
        path.unlink()
        return _write(path, np.concatenate([before, rows]), mode)
    with path.open("r+b") as stream:
        stream.seek(facts.size)
        stream.write(data.tobytes())
        stream.flush()
        os.fsync(stream.fileno())
    start, size = facts.appended[0] if facts.appended else facts.size, facts.size + data.nbytes
    return replace(
        facts,
        shape=(facts.shape[0] + len(rows), *facts.shape[1:]),
        size=size,
        appended=(start, file_digest(path, start, size)),
    )


def _facts(path: Path) -> ArrayFacts:
    import numpy as np

    array = np.load(path, mmap_mode="r", allow_pickle=False)
    return ArrayFacts(array.dtype.str, array.shape, path.stat().st_size, file_digest(path))


def _write_bytes(path: Path, data: bytes, mode: int) -> None:
    with create(path, mode) as stream:
        stream.write(data)
        stream.flush()
        os.fsync(stream.fileno())


FORMAT = 7  # the newest known
_PACKED = re.compile("(passage_vector|classifier_.*)_steps|(passage_)?code_terms")
SHARD_FORMAT = 3  # of a part of a library, no longer supported
MANIFEST_FILE = "manifest.json"
PLACEMENT = "placement_"
_NAME_DIGITS = 12
_SMALL = 1 << 16  # bytes
MOST_MANIFEST = 1 << 26  # bytes
# What the system says of a file that may be as it was written.
_NO_DAMAGE = frozenset({errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """An array file: NumPy type and shape, size and SHA-256 of the file.

    With `appended`, rows were appended from that byte on, which have a SHA-256 of their own. A file
    may be longer: an update was killed, or another folder has more rows of it.
    """

    dtype: str
    shape: tuple[int, ...]
    size: int
    sha256: str
    appended: tuple[int, str] | None = None

    @classmethod
    def of_json(cls, values: Mapping[str, Any]) -> ArrayFacts:
        """Read those of a manifest."""
        tuples = {name: tuple(values[name]) for name in ("shape", "appended") if name in values}
        return cls(**{**values, **tuples})

    def as_json(self) -> dict[str, Any]:
        """Return them as they are written."""
        return {name: value for name, value in asdict(self).items() if value is not None}

    def describes(self, path: Path) -> bool:
        """Tell whether a file has these bytes."""
        start, digest = self.appended or (self.size, "")
        is_same = file_digest(path, 0, start) == self.sha256
        return is_same and (not digest or file_digest(path, start, self.size) == digest)


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything about an index but its arrays."""

    spec: IndexSpec
    tokeniser: dict[str, Any]
    weighting: dict[str, Any]  # its idf is an array
    result: BuiltIndex
    folded: dict[str, int]  # documents added since the build, their words and unknown words
    fingerprint: str  # of the documents in the index
    versions: dict[str, str]  # of the packages that computed the arrays
    created: str
    arrays: dict[str, ArrayFacts] = field(default_factory=dict)  # by file name without suffix
    # The rule in `lpisearch.methods.placement`, for a method without a linear map. The names of its
    # arrays begin with `PLACEMENT`.
    placement: str = ""
    calibration: dict[str, Any] = field(
        default_factory=dict
    )  # {} in an index of an earlier version
    passages: int | None = None  # None in an index of an earlier version
    appended: int = 0  # documents since the arrays were last written as a whole
    removed: int = 0  # documents since then, whose rows are still there
    # Of the encoder that made vectors of passages: its name, the weight of its leg; {} without one.
    encoder: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of the index."""
        return self.spec.name

    @property
    def method(self) -> str:
        """Name of its method."""
        return self.spec.method

    @property
    def format(self) -> int:
        """Format of the folder: the oldest that suffices, so that earlier versions can read it."""
        reasons = {
            FORMAT: any(map(_PACKED.fullmatch, self.arrays)),
            6: self.removed,  # rows
            5: self.appended,  # rows
            4: "loading_steps" in self.arrays,
            2: self.placement,
        }
        return next((number for number, reason in reasons.items() if reason), 1)

    def as_text(self) -> str:
        """Return the JSON text of the manifest."""
        values = asdict(self) | {"format": self.format, "parameters": self.spec.as_dict()}
        values |= {"name": self.name, "method": self.method}
        values["arrays"] = {name: facts.as_json() for name, facts in self.arrays.items()}
        del values["spec"]
        for optional in ("placement", "encoder", "appended", "removed"):
            if not values[optional]:
                del values[optional]
        return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of an index folder."""
        try:
            with open_regular(folder / MANIFEST_FILE) as stream:
                text = stream.read(MOST_MANIFEST)
        except FileNotFoundError as error:
            if not folder.parent.is_dir():
                raise IndexNotHere(folder.parent, _left_behind(folder)) from error
            lost = f"{MANIFEST_FILE} is missing" if folder.is_dir() else "the folder is missing"
            raise IndexDamaged(folder, lost) from error
        except OSError as error:
            raise unreadable(folder, MANIFEST_FILE, error) from error
        return cls.of_bytes(text, folder)

    @classmethod
    def of_bytes(cls, text: bytes, folder: Path) -> Manifest:
        """Read the content of a manifest file; a folder's name has a digest of it."""
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise unreadable(folder, MANIFEST_FILE, error) from error
        number = values.get("format") if isinstance(values, dict) else None
        placement = values.get("placement", "") if isinstance(values, dict) else ""
        if number == SHARD_FORMAT:
            raise IndexOutdated(str(values.get("name")), ["the documents of other shards"])
        if isinstance(number, int) and (number > FORMAT or not _is_known(placement)):
            raise IndexTooNew(folder, number)
        if not folder.name.endswith(_digits(text)):
            raise IndexDamaged(folder, f"{MANIFEST_FILE} is corrupt")
        return cls._of(values, folder)

    @classmethod
    def _of(cls, values: Mapping[str, Any], folder: Path) -> Manifest:
        try:
            named = {"name": values["name"], "method": values["method"]}
            spec = IndexSpec.from_dict(values["parameters"] | named)
            written = {
                "placement": "",
                "calibration": {},
                "passages": None,
                "encoder": {},
                "appended": 0,
                "removed": 0,
                **values,
                "spec": spec,
                "result": BuiltIndex.from_dict(values["result"]),
            }
            known = {field.name: written[field.name] for field in fields(cls)}
            known["arrays"] = {
                name: ArrayFacts.of_json(facts) for name, facts in known["arrays"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise IndexDamaged(folder, f"{MANIFEST_FILE} lacks {error}") from error
        names = [folder_name(str(spec.name), b""), *known["arrays"]]
        if not is_folder_name(names[0]) or not all(map(_ARRAY_NAME.fullmatch, names[1:])):
            raise IndexDamaged(folder, f"{MANIFEST_FILE} names files elsewhere")
        return cls(**known)


def _left_behind(folder: Path) -> Path | None:
    """Return a folder of indexes that has this one, under the name of a library that is gone."""
    for ending, suffix in ((".index", ".db"), ("-index", "")):
        for other in folder.parent.parent.glob(f"*{ending}"):
            library = other.with_name(other.name.removesuffix(ending) + suffix)
            if (other / folder.name).is_dir() and not library.exists():
                return other
    return None


def unreadable(folder: Path, name: str, error: Exception) -> SubspaceError:
    """Return the error for a file that cannot be read: damage, or a refusal of the system."""
    if isinstance(error, OSError) and error.errno in _NO_DAMAGE:
        return IndexUnreadable(folder, f"{name}: {system_reason(error)}")
    return IndexDamaged(folder, f"{name} cannot be read ({error})")


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Refuse an index with missing or truncated arrays, without reading them."""
    for name, facts in manifest.arrays.items():
        path = folder / f"{name}.npy"
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            raise IndexDamaged(folder, f"{path.name} is missing") from error
        except OSError as error:
            raise unreadable(folder, path.name, error) from error
        if size < facts.size:
            raise IndexDamaged(folder, f"{path.name} is corrupt")


def folder_name(index: str, manifest: bytes) -> str:
    """Return the name of a folder: the index's name and a digest of its content."""
    return f"{index}-{_digits(manifest)}"


def _digits(manifest: bytes) -> str:
    return sha256(manifest).hexdigest()[:_NAME_DIGITS]


VERIFICATION_FILE = "verified.json"


def open_verified(folder: Path) -> tuple[Manifest, dict[str, NDArray[Any]]]:
    """Open an index folder, hashing its files unless they are unchanged since the last time."""
    before = _state(folder)
    known = before is not None and before == _remembered(folder)
    opened = open_folder(folder, verify=not known)
    if not known and before is not None:
        _remember(folder, before)
    return opened


def note_written(folder: Path) -> None:
    """Record that the files match the manifest; the caller has just written them."""
    state = _state(folder)
    if state is not None:
        _remember(folder, state)


def _state(folder: Path) -> dict[str, list[int]] | None:
    """Return size, times and inode of each file; None if they cannot be read."""
    try:
        return {path.name: _verified_facts(path.stat()) for path in sorted(folder.glob("*.npy"))}
    except OSError:
        return None


def _verified_facts(status: os.stat_result) -> list[int]:
    return [status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino]


def _remembered(folder: Path) -> object:
    try:
        with open_regular(folder / VERIFICATION_FILE) as stream:
            return json.loads(stream.read(MOST_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return None


def _remember(folder: Path, state: dict[str, list[int]]) -> None:
    """Write the record atomically; without it everything is hashed again."""
    record = folder / VERIFICATION_FILE
    if record.exists() and not record.is_file():  # a pipe, say, which may never be read
        return
    with (
        suppress(OSError),
        whole_file(record, mode_of(folder / MANIFEST_FILE)) as stream,
    ):
        stream.write(json.dumps(state).encode())

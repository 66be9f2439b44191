"""`manifest.json`: the metadata of an index folder.

The manifest names every array with its type, shape and SHA-256, so that a folder that was cut
short, changed or written by a later program is refused and never answers wrongly. Its own
SHA-256 is part of the folder's name.
"""

from __future__ import annotations

import errno
import json
from dataclasses import asdict, dataclass, field, fields
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from lpisearch.errors import IndexDamaged, IndexOutdated, IndexTooNew, IndexUnreadable
from lpisearch.projections.placements import PLACEMENTS
from lpisearch.records import BuiltIndex
from lpisearch.settings import IndexSpec
from lpisearch.wording import system_reason

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from lpisearch.errors import SubspaceError

FORMAT = 2
# Written is the first format that can say it: an earlier program can then read it.
_LINEAR_FORMAT = 1
_SHARD_FORMAT = 3  # of one part of a library: such indexes are no longer read
FILE = "manifest.json"
PLACEMENT = "placement_"
_NAME_DIGITS = 12
# What the system says of a file that may be as it was written.
_NO_DAMAGE = frozenset({errno.EACCES, errno.EPERM, errno.EMFILE, errno.ENFILE, errno.ENOMEM})


@dataclass(frozen=True, slots=True)
class ArrayFacts:
    """One array file: its NumPy type, its shape, and the bytes and SHA-256 of the whole file."""

    dtype: str
    shape: tuple[int, ...]
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything of an index but its arrays.

    Attributes
    ----------
    spec
        What the index was asked for.
    tokeniser, weighting
        How a text becomes a row of weights; the weighting's idf is an array.
    result
        What came out.
    folded
        Documents folded in after the build that are still there: how many, their tokens, and how
        many of those are unknown.
    fingerprint
        Of the documents that the index was built from.
    versions
        Of the libraries that computed the arrays.
    created
        When it was built.
    arrays
        The files, by name without suffix.
    placement
        Where no linear map places the documents: the name of the rule that does, in
        `lpisearch.projections.placements`. Its arrays have names that begin with `PLACEMENT`.
    calibration
        How much the subspace counts beside the words (`indexes.scoring.calibration`). Nothing in
        an index of an earlier program.
    passages
        How many passages long documents have; None in an index of an earlier program, which has
        documents as wholes alone.
    """

    spec: IndexSpec
    tokeniser: dict[str, Any]
    weighting: dict[str, Any]
    result: BuiltIndex
    folded: dict[str, int]
    fingerprint: str
    versions: dict[str, str]
    created: str
    arrays: dict[str, ArrayFacts] = field(default_factory=dict)
    placement: str = ""
    calibration: dict[str, Any] = field(default_factory=dict)
    passages: int | None = None

    @property
    def name(self) -> str:
        """What the index is called."""
        return self.spec.name

    @property
    def method(self) -> str:
        """The projection that made it."""
        return self.spec.method

    @property
    def format(self) -> int:
        """Of the folder: 2 has a placement, 1 does not know of any."""
        return FORMAT if self.placement else _LINEAR_FORMAT

    def as_text(self) -> str:
        """Return the JSON text of the file."""
        values = asdict(self) | {"format": self.format, "parameters": self.spec.as_dict()}
        values |= {"name": self.name, "method": self.method}
        del values["spec"]
        if not self.placement:
            del values["placement"]
        return json.dumps(values, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, folder: Path) -> Manifest:
        """Read the manifest of an index folder.

        Raises
        ------
        IndexDamaged, IndexTooNew, IndexOutdated
        """
        try:
            text = (folder / FILE).read_bytes()
            values = json.loads(text)
        except FileNotFoundError as error:
            lost = f"{FILE} is missing" if folder.is_dir() else "the folder is missing"
            raise IndexDamaged(folder, lost) from error
        except (OSError, ValueError, RecursionError) as error:
            raise unreadable(folder, FILE, error) from error
        number = values.get("format") if isinstance(values, dict) else None
        if number == _SHARD_FORMAT:
            raise IndexOutdated(str(values.get("name")), ["the documents of other shards"])
        if isinstance(number, int) and (
            number > FORMAT or values.get("placement", "") not in ["", *PLACEMENTS]
        ):
            raise IndexTooNew(folder, number)
        if not folder.name.endswith(_digits(text)):
            raise IndexDamaged(folder, f"{FILE} is corrupt")
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
                **values,
                "spec": spec,
                "result": BuiltIndex.from_dict(values["result"]),
            }
            known = {each.name: written[each.name] for each in fields(cls)}
            known["arrays"] = {
                name: ArrayFacts(**facts | {"shape": tuple(facts["shape"])})
                for name, facts in known["arrays"].items()
            }
        except (KeyError, TypeError, AttributeError) as error:
            raise IndexDamaged(folder, f"{FILE} lacks {error}") from error
        return cls(**known)


def unreadable(folder: Path, name: str, error: Exception) -> SubspaceError:
    """Return the error to raise where a file cannot be read: damage, or a system that refuses."""
    if isinstance(error, OSError) and error.errno in _NO_DAMAGE:
        return IndexUnreadable(folder, f"{name}: {system_reason(error)}")
    return IndexDamaged(folder, f"{name} cannot be read ({error})")


def check_sizes(folder: Path, manifest: Manifest) -> None:
    """Look for arrays that are missing or cut short, without reading them.

    Raises
    ------
    IndexDamaged
    """
    for name, facts in manifest.arrays.items():
        path = folder / f"{name}.npy"
        try:
            size = path.stat().st_size
        except FileNotFoundError as error:
            raise IndexDamaged(folder, f"{path.name} is missing") from error
        except OSError as error:
            raise unreadable(folder, path.name, error) from error
        if size != facts.size:
            raise IndexDamaged(folder, f"{path.name} is corrupt")


def folder_name(index: str, manifest: bytes) -> str:
    """Name a folder after its index and its content: equal indexes have equal names."""
    return f"{index}-{_digits(manifest)}"


def _digits(manifest: bytes) -> str:
    return sha256(manifest).hexdigest()[:_NAME_DIGITS]

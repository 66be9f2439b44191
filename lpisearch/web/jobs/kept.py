"""Save unfinished jobs, to report them at the next start.

They are kept in the folder for such state of the system, a file for each library.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from typing import TYPE_CHECKING

from lpisearch.files import whole_file
from lpisearch.places import Address
from lpisearch.records.wire import json_text
from lpisearch.settings import real_path
from lpisearch.web.jobs.job import INTERRUPTED, Job

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from lpisearch.places import Place

_FOR_ME_ALONE, _FOLDER_FOR_ME_ALONE = 0o600, 0o700
_KEPT = ("id", "kind", "asked", "asked_at", "begun")


def jobs_file(library: Place) -> Path:
    """Return where the jobs of a library are kept."""
    from platformdirs import user_state_path

    place = library if isinstance(library, Address) else real_path(library)
    digest = hashlib.sha256(str(place).encode("utf-8", "surrogateescape")).hexdigest()
    return user_state_path("lpisearch", appauthor=False) / "jobs" / f"{digest[:32]}.json"


def keep(file: Path, jobs: Iterable[Job]) -> None:
    """Write down the jobs that are under way; what cannot be written is not missed before."""
    said = [{name: getattr(job, name) for name in _KEPT} for job in jobs if job.is_under_way]
    with suppress(OSError):
        if not said:
            file.unlink(missing_ok=True)
            return
        file.parent.mkdir(parents=True, exist_ok=True, mode=_FOLDER_FOR_ME_ALONE)
        with whole_file(file, _FOR_ME_ALONE) as stream:
            stream.write(json_text(said).encode())


def interrupted(file: Path) -> list[Job]:
    """Return the jobs that were under way when the server ended."""
    try:
        said = json.loads(file.read_bytes())
        return [Job(**{name: each[name] for name in _KEPT}, state=INTERRUPTED) for each in said]
    except (OSError, ValueError, KeyError, TypeError):
        return []

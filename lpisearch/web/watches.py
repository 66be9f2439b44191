"""Folders that a server watches: what changes below them is added, until it is told to stop.

Their names are among the records of the library, so that the next server watches them again. A
folder outside of those that may be added is left alone, and the page says so.
"""

from __future__ import annotations

import platform
import time
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from lpisearch.errors import LpiSearchError
from lpisearch.options import IngestOptions
from lpisearch.watching import Changes
from lpisearch.web.api.endpoint import ApiRequest
from lpisearch.web.api.tasks import IngestRequest, ingest
from lpisearch.web.pages.templates import preserve, preserved
from lpisearch.web.problems import Refusal
from lpisearch.web.state import WebState, allowed_path

if TYPE_CHECKING:
    from lpisearch.web.jobs import Job

_ANYWAY_SECONDS = 600.0  # between looks at all files: network drives do not tell of every change
_POLLED_SECONDS = 60.0  # between them if no events come at all
_LOOK_SECONDS, _LIST_SECONDS, _PATIENCE_SECONDS = 0.2, 2.0, 10.0
_CHANGED = ("added", "updated", "moved", "removed", "failed")
_MOST = 20


@dataclass(eq=False)
class Watch:
    """A folder that is watched, and the thread that does so."""

    folder: str
    changes: Changes
    thread: Thread | None = None
    trouble: str = ""  # why its changes are not added
    _looked: float = field(default_factory=time.monotonic)

    def is_due(self) -> bool:
        """Wait a little; tell whether files may have changed."""
        changed = self.changes.wait()
        patience = _ANYWAY_SECONDS if self.changes.has_events else _POLLED_SECONDS
        is_late = time.monotonic() - self._looked > patience
        if not is_late and not (changed and self.changes.has_events):
            return False
        self._looked = time.monotonic()
        return True


class Watches:
    """The watched folders of a library on this machine.

    All processes of a server list and change them; the one that follows them watches.
    """

    def __init__(self, shared: WebState) -> None:
        self._shared = shared
        self._name = f"watched:{platform.node()}"
        self._changed, self._ends = Event(), Event()
        self._watches: dict[str, Watch] = {}
        self._thread: Thread | None = None

    def all(self) -> dict[str, str]:
        """Return the watched folders, and why the changes of each are not added, or ""."""
        return preserved(self._shared, self._name)

    def add(self, named: str) -> None:
        """Watch a folder from now on."""
        folder, folders = str(allowed_path(self._shared, named)), self.all()
        if len(folders) >= _MOST:
            raise Refusal(422, f"At most {_MOST} folders are watched.")
        self._set(folders | {folder: ""})

    def remove(self, folder: str) -> None:
        """Watch a folder no longer; its documents stay."""
        self._set({name: trouble for name, trouble in self.all().items() if name != folder})

    def follow(self) -> None:
        """Watch the folders in this process, until it ends."""
        if self._thread is None:
            self._thread = Thread(target=self._follow, name="watching", daemon=True)
            self._thread.start()

    def close(self) -> None:
        """End all threads; the names stay."""
        self._ends.set()
        self._changed.set()
        if self._thread is not None:
            self._thread.join(_PATIENCE_SECONDS)
        for watch in self._watches.values():
            watch.changes.close()
        for watch in self._watches.values():
            if watch.thread is not None:
                watch.thread.join(_PATIENCE_SECONDS)

    def _set(self, folders: dict[str, str]) -> None:
        preserve(self._shared, self._name, folders)
        self._changed.set()

    def _follow(self) -> None:
        """Begin and end watches as their list changes, in this process or another."""
        while not self._ends.is_set():
            wanted = self.all()
            for folder in wanted.keys() - self._watches.keys():
                self._watches[folder] = self._begun(folder)
            for folder in self._watches.keys() - wanted.keys():
                self._watches.pop(folder).changes.close()
            self._changed.wait(_LIST_SECONDS)
            self._changed.clear()

    def _begun(self, folder: str) -> Watch:
        watch = Watch(folder, Changes([folder], IngestOptions(), self._shared.library.path))
        watch.thread = Thread(target=self._watch, args=(watch,), name="watching", daemon=True)
        watch.thread.start()
        return watch

    def _watch(self, watch: Watch) -> None:
        """Add what changes, one job at a time; the first look is soon."""
        is_due = True
        while not watch.changes.ends.is_set():
            if is_due:
                self._ingest(watch)
            is_due = watch.is_due()

    def _ingest(self, watch: Watch) -> None:
        body = IngestRequest((watch.folder,), index=True)
        try:
            reply = ingest(ApiRequest(self._shared, {}, body))
        except (Refusal, LpiSearchError) as error:
            self._state(watch, getattr(error, "detail", "") or str(error))
            return
        self._state(watch, "")
        job: Job = self._shared.jobs.get(str(reply.value["id"]))
        while job.is_under_way and not watch.changes.ends.is_set():
            time.sleep(_LOOK_SECONDS)
        if isinstance(job.result, dict) and not any(job.result.get(name) for name in _CHANGED):
            self._shared.jobs.forget(job.id)

    def _state(self, watch: Watch, trouble: str) -> None:
        if watch.trouble != trouble:
            watch.trouble = trouble
            folders = self.all()
            if watch.folder in folders:
                preserve(self._shared, self._name, folders | {watch.folder: trouble})


_WATCHES: WeakKeyDictionary[WebState, Watches] = WeakKeyDictionary()
_LOCK = Lock()


def watches_of(shared: WebState) -> Watches:
    """Return the watched folders of a served library."""
    with _LOCK:
        return _WATCHES.setdefault(shared, Watches(shared))

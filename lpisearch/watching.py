"""Changes of files below folders, as the system tells of them or by looking again and again.

The events of the system need watchfiles; without it, or on a file system without events, the files
are looked at every two seconds.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Any

from lpisearch.location import Address, Location, own_paths, real_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from lpisearch.options import IngestOptions

_POLL_SECONDS = 2.0
_TICK_SECONDS = 5.0


class Changes:
    """Waits for changes of files below folders, but for the library's own and hidden ones."""

    def __init__(
        self,
        paths: Sequence[str],
        options: IngestOptions,
        library: Location,
        on_note: Callable[[str], object] = lambda _text: None,
    ) -> None:
        self.ends = Event()
        self._note = on_note
        self._folders = [Path(path).expanduser().absolute() for path in paths]
        self._hidden = options.find.hidden
        own = () if isinstance(library, Address) else map(str, own_paths(real_path(library)))
        self._own = tuple(own)
        self._events: Iterator[set[Any]] | None = None
        self._inodes: list[int] = []
        # A file alone is replaced when it is saved, and a link leads elsewhere: neither is seen.
        folders = all(folder.is_dir() for folder in self._folders) and not options.find.follow_links
        self._watch = self._watchfiles() if folders else None

    @property
    def has_events(self) -> bool:
        """Whether the system tells of changes; otherwise each wait ends as if there were one."""
        return self._watch is not None

    @property
    def means(self) -> str:
        """How changes are noticed."""
        if self._watch is None:
            return f"every {_POLL_SECONDS:g} s"
        return "by events"

    def wait(self) -> bool:
        """Wait for a change, some seconds, or `ends`; tell whether there may be one."""
        if self._watch is not None:
            try:
                inodes = [folder.stat().st_ino for folder in self._folders]
                replaced = inodes != self._inodes  # events of the former folder alone would come
                if self._events is None or replaced:
                    self._inodes, self._events = inodes, iter(self._begin())
                return bool(next(self._events)) or replaced
            except FileNotFoundError:
                return True
            except (OSError, StopIteration) as error:
                self._note(f"No events ({error}); looking every {_POLL_SECONDS:g} s.")
                self._watch = None
        self.ends.wait(_POLL_SECONDS)
        return True

    def pause(self) -> None:
        """Wait a little, then watch again: a folder may have been replaced."""
        self._events = None
        self.ends.wait(_POLL_SECONDS)

    def close(self) -> None:
        """End the wait of another thread, and each later one."""
        self.ends.set()

    def matters(self, path: str) -> bool:
        """Tell whether a change of a path may concern a document."""
        real = os.path.realpath(path)
        own = (real == one or real.startswith((f"{one}-", f"{one}{os.sep}")) for one in self._own)
        if any(own):
            return False
        around = [folder for folder in self._folders if Path(path).is_relative_to(folder)]
        parts = Path(path).relative_to(around[0]).parts if around else ()
        return self._hidden or not any(part.startswith(".") for part in parts)

    def _begin(self) -> Iterable[set[Any]]:
        return self._watch(  # type: ignore[no-any-return, misc]
            *self._folders,
            watch_filter=lambda _change, path: self.matters(path),
            debounce=1000,
            rust_timeout=int(_TICK_SECONDS * 1000),
            yield_on_timeout=True,
            stop_event=self.ends,
        )

    def _watchfiles(self) -> Any:
        try:
            from watchfiles import watch
        except ImportError:
            self._note("pip install 'lpisearch[watch]' to be told of changes by the system.")
            return None
        return watch

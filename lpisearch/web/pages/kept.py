"""Cache slow results while the library is unchanged."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from lpisearch.web.state import WebState

    T = TypeVar("T")

_MOST = 12


class Kept:
    """Results by what they are of; those of an earlier state of the library are made anew.

    Each is made once, whoever asks meanwhile: the others wait.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._made: OrderedDict[Hashable, tuple[str, Any]] = OrderedDict()
        self._making: dict[Hashable, Lock] = {}

    def get(self, what: Hashable, state: str, make: Callable[[], T]) -> T:
        """Return a result of this state of the library; `make` may ask `before` for the last."""
        with self._lock:
            lock = self._making.setdefault(what, Lock())
        with lock:
            found = self.peek(what, state)
            if found is None:
                found = make()
                with self._lock:
                    self._made[what] = state, found
                    self._made.move_to_end(what)
                    while len(self._made) > _MOST:
                        self._making.pop(self._made.popitem(last=False)[0], None)
            return cast("T", found)

    def before(self, what: Hashable) -> Any:
        """Return the last result, of whatever state; None if there is none."""
        with self._lock:
            return self._made.get(what, ("", None))[1]

    def peek(self, what: Hashable, state: str) -> Any:
        """Return a result if it is there already, else None."""
        with self._lock:
            made_of, made = self._made.get(what, ("", None))
        return made if made_of == state else None


_KEPT: WeakKeyDictionary[WebState, Kept] = WeakKeyDictionary()
_LOCK = Lock()


def kept(shared: WebState) -> Kept:
    """Return what is kept of a library that is served."""
    with _LOCK:
        return _KEPT.setdefault(shared, Kept())

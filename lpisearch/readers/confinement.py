"""What a worker process may do, as far as the system can forbid the rest.

A file that takes over its extractor should reach nothing but the pipe to the parent. Each means is
tried by itself, because kernels, containers and accounts differ in what they allow:

- a network namespace of its own (Linux), in which there is no network;
- Landlock (Linux 5.13), which denies to create, change, rename or remove any file; since 6.7 also
  TCP, and since 6.12 signals and abstract sockets of other processes;
- limits on memory, on the size of files that are written, and no core files (POSIX).

On other systems the parent watches the memory (`resident_bytes`). Converters that a worker starts
inherit all of it. docs/hostile-files.md has the table of systems.
"""

from __future__ import annotations

import ctypes
import os
import sys
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

IS_WATCHED = sys.platform != "linux" or "t" in sys.abiflags
"""Whether the parent has to watch the memory of workers: the system does not limit it, or the
allocator of free-threaded Python reserves more addresses than the limit."""


def confine(memory_bytes: int) -> None:
    """Give up all rights of this process that reading files does not need."""
    limit_resources(memory_bytes)
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):  # no C library that can be asked
            libc = ctypes.CDLL(None, use_errno=True)
            _leave_network(libc)
            _deny_writes(libc)


def limit_resources(memory_bytes: int) -> None:
    """Limit the files that are written, and the address space if the parent does not watch."""
    try:
        import resource
    except ImportError:
        return
    kinds = (resource.RLIMIT_FSIZE, *(() if IS_WATCHED else (resource.RLIMIT_AS,)))
    for kind, limit in ((resource.RLIMIT_CORE, 0), *((kind, memory_bytes) for kind in kinds)):
        hard = resource.getrlimit(kind)[1]
        bound = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
        with suppress(OSError, ValueError):  # macOS refuses some limits
            resource.setrlimit(kind, (bound, bound))


def resident_bytes(pid: int) -> int:
    """Return the memory that a process holds; 0 if it cannot be told."""
    try:
        import psutil

        resident: int = psutil.Process(pid).memory_info().rss
    except (ImportError, psutil.Error):
        return 0
    return resident


_NEW_NETWORK, _NEW_USER = 0x40000000, 0x10000000


def _leave_network(libc: Any) -> None:
    """Enter a network namespace without any network; without privileges, by a user namespace."""
    if libc.unshare(_NEW_NETWORK):
        libc.unshare(_NEW_NETWORK | _NEW_USER)


# The same numbers on every architecture.
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION_FLAG, _PATH_BENEATH, _NO_NEW_PRIVILEGES = 1, 1, 38
_WRITE_FILE = 1 << 1
# Write, remove folders and files, create anything; by version: rename elsewhere, truncate.
_WRITES = _WRITE_FILE | sum(1 << bit for bit in range(4, 13))
_LATER_WRITES = {2: 1 << 13, 3: 1 << 14}
_TCP, _SINCE_TCP = 0b11, 4
_OTHER_PROCESSES, _SINCE_SCOPES = 0b11, 6


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("net", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def _deny_writes(libc: Any) -> None:
    """Let Landlock deny every change of files, but writing to the null device."""
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _VERSION_FLAG)
    if version < 1:
        return
    rules = _Ruleset(
        files=_WRITES | sum(b for since, b in _LATER_WRITES.items() if version >= since)
    )
    size = ctypes.sizeof(ctypes.c_uint64)
    if version >= _SINCE_TCP:
        rules.net, size = _TCP, 2 * size
    if version >= _SINCE_SCOPES:
        rules.scopes, size = _OTHER_PROCESSES, ctypes.sizeof(_Ruleset)
    ruleset = libc.syscall(_CREATE_RULESET, ctypes.byref(rules), ctypes.c_size_t(size), 0)
    if ruleset < 0:
        return
    try:
        with _opened(os.devnull) as null:
            allowed = _Beneath(allowed=_WRITE_FILE, parent=null)
            libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(allowed), 0)
        libc.prctl(_NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        libc.syscall(_RESTRICT_SELF, ruleset, 0)
    finally:
        os.close(ruleset)


@contextmanager
def _opened(path: str) -> Iterator[int]:
    """Open a path as a place alone, without reading it."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_PATH", 0) | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

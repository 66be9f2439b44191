"""Errors of compute clusters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lpisearch.errors.base import LpiSearchError

if TYPE_CHECKING:
    from pathlib import Path


class ClusterError(LpiSearchError):
    """A cluster cannot do the work. The library and its indexes are as they were."""


class ClusterMissing(ClusterError):
    """What speaks with a Dask cluster is not installed."""

    def __init__(self) -> None:
        super().__init__(
            "Using several processes or machines requires dask.distributed.",
            "pip install 'lpisearch[cluster]'",
        )


class ClusterUnreachable(ClusterError):
    """No scheduler answers, or it has no workers."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"Cannot use the cluster at {address}: {reason}.",
            "check the address, or start “dask scheduler” and “dask worker tcp://HOST:8786”",
        )


class ClusterMismatch(ClusterError):
    """A worker has other versions of what computes an index."""

    def __init__(self, worker: str, there: str, here: str) -> None:
        super().__init__(
            f"{worker} runs {there}; this machine runs {here}.",
            "install the same versions on the scheduler and every worker",
        )


class FolderNotShared(ClusterError):
    """A worker does not see the folder that it would write to."""

    def __init__(self, folder: Path, worker: str) -> None:
        super().__init__(
            f"The worker {worker} cannot see files written to {folder}.",
            "share that folder with all workers under the same path, or move the "
            "library to a shared folder",
        )


class ClusterLost(ClusterError):
    """Scheduler or workers went away during the work."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"Lost the cluster at {address}: {reason}. Completed work is saved.",
            "restart the cluster and run the same command to continue",
        )

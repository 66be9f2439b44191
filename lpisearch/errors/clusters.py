"""Clusters that cannot do the work."""

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
            "Work on several processes or machines needs dask.distributed.",
            "pip install 'lpisearch[cluster]'",
        )


class ClusterUnreachable(ClusterError):
    """No scheduler answers, or it has no workers."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"No cluster can be used at {address}: {reason}.",
            "check the address, or start “dask scheduler” and “dask worker tcp://HOST:8786”",
        )


class ClusterMismatch(ClusterError):
    """A worker has other versions of what computes an index."""

    def __init__(self, worker: str, there: str, here: str) -> None:
        super().__init__(
            f"{worker} has {there}; here is {here}.",
            "install the same versions wherever a worker or the scheduler runs",
        )


class FolderNotShared(ClusterError):
    """A worker does not see the folder that it would write to."""

    def __init__(self, folder: Path, worker: str) -> None:
        super().__init__(
            f"The worker {worker} does not see what is written to {folder}.",
            "share that folder with all workers under the same path, or keep the library in one",
        )


class ClusterLost(ClusterError):
    """Scheduler or workers went away during the work."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(
            f"The cluster at {address} was lost: {reason}. What was finished is kept.",
            "start it again, then run the same command: it goes on from there",
        )

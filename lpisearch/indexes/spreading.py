"""Choose where a build runs: threads, local processes or a cluster."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lpisearch.compute.spread import spread_by
from lpisearch.errors import BadOption
from lpisearch.places import Address

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch.indexes.places import IndexPlace
    from lpisearch.places import Place
    from lpisearch.settings import IndexOptions


@dataclass(frozen=True, slots=True)
class Spreading:
    """Who works.

    Attributes
    ----------
    reads_library
        Whether those who work read the documents from the library themselves.
    notes
        What is to be known of it.
    """

    reads_library: bool = False
    notes: tuple[str, ...] = ()


_NOT_READ = (
    "Words were counted on this machine only: other machines cannot read an SQLite file in use. "
    "With PostgreSQL, all of them can."
)


def check_spread(options: IndexOptions) -> None:
    """Refuse what cannot be meant.

    Raises
    ------
    BadOption
    """
    if options.cluster and options.workers:
        raise BadOption(("cluster", "workers"), "cannot be used together")
    if options.workers < 0:
        raise BadOption("workers", f"must be 0 or more, not {options.workers}")


@contextmanager
def spread_of(options: IndexOptions, library: Place, place: IndexPlace) -> Iterator[Spreading]:
    """Have the work of a build done by whoever is asked for, until the block ends.

    Raises
    ------
    BadOption, ClusterError
    """
    if not options.cluster and not options.workers:
        yield Spreading()
        return
    from lpisearch.compute import joining

    chosen = (
        joining.cluster_at(options.cluster)
        if options.cluster
        else joining.local_cluster(options.workers)
    )
    with chosen as cluster, spread_by(cluster):
        joining.check_shared(cluster, place.folder, place.mode)
        reads = isinstance(library, Address) or joining.is_one_machine(cluster)
        yield Spreading(reads, () if reads else (_NOT_READ,))

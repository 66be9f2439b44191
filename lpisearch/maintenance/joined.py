"""Read several shards as one corpus for a build."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from lpisearch.storage import fingerprint, open_store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from lpisearch.records import Filter, Section, TokenShard
    from lpisearch.storage import Snapshot

KEYS_A_SHARD = 1 << 32
"""So many keys lie between the first ones of two shards."""


@dataclass(frozen=True, slots=True)
class Joined:
    """Several snapshots whose keys ascend from one to the next; see `contract.Snapshot`."""

    snapshots: tuple[Snapshot, ...]

    @property
    def corpus(self) -> Joined:
        """Tokens and content hashes."""
        return self

    @property
    def labels(self) -> Joined:
        """Labels and splits."""
        return self

    @property
    def documents(self) -> Joined:
        """Texts and sections."""
        return self

    @property
    def settings(self) -> Any:
        """Those of the first: all have the same tokeniser."""
        return self.snapshots[0].settings

    def shards(self, wanted: Filter) -> Iterator[TokenShard]:
        """Yield the tokens of all documents, by key."""
        return chain.from_iterable(each.corpus.shards(wanted) for each in self.snapshots)

    def stream_hashes(self, wanted: Filter) -> Iterator[tuple[int, bytes]]:
        """Yield key and content hash of every document, in order of keys."""
        return chain.from_iterable(each.corpus.stream_hashes(wanted) for each in self.snapshots)

    def fingerprint(self, wanted: Filter) -> str:
        """Return the digest of the keys and contents of all documents."""
        return fingerprint(self.stream_hashes(wanted))

    def count_and_sum(self, wanted: Filter) -> tuple[int, int]:
        """Return how many documents there are, and the sum of their keys."""
        found = [each.corpus.count_and_sum(wanted) for each in self.snapshots]
        return sum(count for count, _ in found), sum(total for _, total in found)

    def by_key(self, wanted: Filter) -> dict[int, list[str]]:
        """Return the labels of every document that has any."""
        return self._together(lambda each: each.labels.by_key(wanted))

    def splits_by_key(self, wanted: Filter) -> dict[int, str]:
        """Return the split of every document that is in one."""
        return self._together(lambda each: each.labels.splits_by_key(wanted))

    def tokens(self, keys: Sequence[int]) -> list[str]:
        """Return the tokens of documents, in the order of the keys given."""
        found: dict[int, str] = {}
        for snapshot, own in self._owners(keys):
            found |= dict(zip(own, snapshot.corpus.tokens(own), strict=True))
        return [found[key] for key in keys]

    def texts(self, keys: Sequence[int]) -> Iterator[tuple[int, str, str]]:
        """Yield key, title and text, by key."""
        for snapshot, own in self._owners(keys):
            yield from snapshot.documents.texts(own)

    def sections(self, keys: Sequence[int]) -> dict[int, tuple[Section, ...]]:
        """Return the sections of documents that have any, by key."""
        found: dict[int, tuple[Section, ...]] = {}
        for snapshot, own in self._owners(keys):
            found |= snapshot.documents.sections(own)
        return found

    def _owners(self, keys: Sequence[int]) -> Iterator[tuple[Snapshot, list[int]]]:
        for number, snapshot in enumerate(self.snapshots):
            own = [key for key in keys if key // KEYS_A_SHARD == number]
            if own:
                yield snapshot, own

    def _together(self, ask: Callable[[Snapshot], dict[int, Any]]) -> dict[int, Any]:
        found: dict[int, Any] = {}
        for each in self.snapshots:
            found |= ask(each)
        return found


@contextmanager
def joined(libraries: Sequence[Path]) -> Iterator[Joined]:
    """Give the documents of libraries as they are now."""
    with ExitStack() as held:
        stores = [held.enter_context(open_store(each)) for each in libraries]
        yield Joined(tuple(held.enter_context(store.reading()) for store in stores))

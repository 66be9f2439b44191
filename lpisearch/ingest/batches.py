"""Write documents in batches: each batch is one transaction, and leaves all tables in step."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from lpisearch.records import DocumentWrite, StoredPlace
from lpisearch.storage import content_hash

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from lpisearch.records import Document
    from lpisearch.storage import Transaction

Outcome = Literal["added", "updated", "unchanged", "duplicate", "taken"]


@dataclass(frozen=True, slots=True)
class Incoming:
    """A document on its way into the library.

    Attributes
    ----------
    source_id, position
        The source, and the number of the document within it, from 1.
    ids
        The identity that the document states; or, where it states none, those that may be
        derived from its path, the shortest first.
    stated
        A stated identity goes with the document; a derived one belongs to the place.
    path
        The file, for display.
    document
        What is stored.
    """

    source_id: int
    position: int
    ids: tuple[str, ...]
    stated: bool
    path: str
    document: Document


class Written(NamedTuple):
    """What became of one document; `other_source` has its id already, if it is "taken"."""

    outcome: Outcome
    other_source: int = 0


@dataclass(slots=True)
class BatchWriter:
    """Brings batches into a library, touching only what differs.

    Attributes
    ----------
    tokenise
        Gives the tokens to store; called for new and changed documents only.
    is_gone
        Tells of a source's key whether its file is gone, so that another file may bring the
        same documents.
    """

    tokenise: Callable[[Document], str]
    is_gone: Callable[[int], bool]
    _seen: dict[int, set[int]] = field(default_factory=dict)

    def write(self, transaction: Transaction, batch: Sequence[Incoming], now: str) -> list[Written]:
        """Write a batch within the transaction; one result for each document."""
        present = _Present.of(transaction, batch)
        results: list[Written] = []
        new: list[DocumentWrite] = []
        changed: list[DocumentWrite] = []
        moved: list[DocumentWrite] = []
        for incoming in batch:
            stored = present.find(incoming)
            digest = content_hash(incoming.document)
            key = stored.key if stored else present.new_key()
            written = self._judge(incoming, stored, key, digest)
            results.append(written)
            if written.outcome in {"duplicate", "taken"}:
                continue
            name = stored.id if stored else present.free_id(incoming.ids)
            place = StoredPlace(key, name, incoming.source_id, incoming.position, digest)
            write = DocumentWrite(place, incoming.path, incoming.document)
            if stored is None:
                present.put(place)
                new.append(write)
            elif written.outcome == "updated":
                changed.append(write)
            elif stored != place:
                moved.append(write)
        transaction.changes.move(moved)
        transaction.changes.replace(self._tokenised(changed), now)
        transaction.changes.insert(self._tokenised(new), now)
        return results

    def _tokenised(self, writes: Sequence[DocumentWrite]) -> list[DocumentWrite]:
        return [write._replace(tokens=self.tokenise(write.document)) for write in writes]

    def _judge(
        self, incoming: Incoming, stored: StoredPlace | None, key: int, digest: bytes
    ) -> Written:
        source_id = incoming.source_id
        if stored and stored.source_id != source_id and not self._is_free(stored):
            return Written("taken", stored.source_id)
        seen = self._seen.setdefault(source_id, set())
        if key in seen:
            return Written("duplicate")
        seen.add(key)
        if stored is None:
            return Written("added")
        return Written("unchanged" if stored.content_hash == digest else "updated")

    def _is_free(self, stored: StoredPlace) -> bool:
        """Tell whether a document is left behind by its file."""
        return stored.position < 0 or self.is_gone(stored.source_id)

    def vanished(self, transaction: Transaction, source_id: int) -> list[int]:
        """Return the documents that a source, now read to its end, no longer has."""
        seen = self._seen.pop(source_id, set())
        return [key for key in transaction.changes.of_source(source_id) if key not in seen]


class _Present:
    """What the library has at the identities and places of a batch."""

    def __init__(self, stored: Sequence[StoredPlace], new_keys: Iterator[int]) -> None:
        self._by_id = {one.id: one for one in stored}
        # A record that is there hides one that is gone from the same place.
        by_place = sorted(stored, key=lambda one: one.position)
        self._by_place = {(one.source_id, abs(one.position)): one for one in by_place}
        self._new_keys = new_keys

    @classmethod
    def of(cls, transaction: Transaction, batch: Sequence[Incoming]) -> _Present:
        ids = [name for incoming in batch for name in incoming.ids]
        places = [
            (incoming.source_id, incoming.position) for incoming in batch if not incoming.stated
        ]
        return cls(transaction.changes.at(ids, places), transaction.changes.new_keys())

    def find(self, incoming: Incoming) -> StoredPlace | None:
        """Return the document that the incoming one is a version of."""
        if incoming.stated:
            return self._by_id.get(incoming.ids[0])
        stored = self._by_place.get((incoming.source_id, incoming.position))
        # A document with an id of its own, which was here before, has moved.
        return stored if stored and _is_derived(stored.id, incoming.ids[-1]) else None

    def free_id(self, candidates: Sequence[str]) -> str:
        """Return the first candidate that no document has."""
        for name in candidates:
            if name not in self._by_id:
                return name
        return f"{candidates[-1]} ({len(self._by_id)})"

    def new_key(self) -> int:
        return next(self._new_keys)

    def put(self, place: StoredPlace) -> None:
        """Remember a document that this batch adds."""
        self._by_id[place.id] = place
        self._by_place[place.source_id, place.position] = place


def _is_derived(name: str, longest: str) -> bool:
    """Tell a name derived from a path, perhaps from an inner folder, from one that was stated."""
    file = longest.rsplit("/", 1)[-1]
    return name.startswith(longest) or (longest.endswith(name) and name.endswith(file))

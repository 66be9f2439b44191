"""Write documents in batches, one transaction each."""

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
        What it may be called, best first: the id that it states and those that tell it from
        another file's; or, where it states none, those derived from its path.
    stated
        A stated id goes with the document; a derived one belongs to the place.
    path
        The file, for display.
    document
        What is stored.
    former
        What else it may have been called, when its file was named from another folder.
    """

    source_id: int
    position: int
    ids: tuple[str, ...]
    stated: bool
    path: str
    document: Document
    former: tuple[str, ...] = ()


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
    ids_are_global
        One stated id is one document, whichever files state it; else each file has its own.
    """

    tokenise: Callable[[Document], str]
    is_gone: Callable[[int], bool]
    ids_are_global: bool = False
    _seen: dict[int, set[int]] = field(default_factory=dict)

    def write(self, transaction: Transaction, batch: Sequence[Incoming], now: str) -> list[Written]:
        """Write a batch within the transaction; one result for each document."""
        present = _Present.of(transaction, batch)
        results: list[Written] = []
        new: list[DocumentWrite] = []
        changed: list[DocumentWrite] = []
        moved: list[DocumentWrite] = []
        for incoming in batch:
            stored = self._version(present, incoming)
            key = stored.key if stored else present.new_key()
            if refused := self._refused(incoming, stored, key):
                results.append(refused)
                continue
            digest = content_hash(incoming.document)
            results.append(Written(_outcome(stored, digest)))
            name = stored.id if stored else present.free_id(incoming.ids, key)
            place = StoredPlace(key, name, incoming.source_id, incoming.position, digest)
            write = DocumentWrite(place, incoming.path, incoming.document)
            if stored is None:
                present.put(place)
                new.append(write)
            elif digest != stored.content_hash:
                changed.append(write)
            elif stored != place:
                moved.append(write)
        transaction.changes.move(moved)
        transaction.changes.replace(self._tokenised(changed), now)
        transaction.changes.insert(self._tokenised(new), now)
        return results

    def _tokenised(self, writes: Sequence[DocumentWrite]) -> list[DocumentWrite]:
        return [write._replace(tokens=self.tokenise(write.document)) for write in writes]

    def _version(self, present: _Present, incoming: Incoming) -> StoredPlace | None:
        """Return the document that the incoming one is a version of."""
        stored = present.find(incoming)
        if stored is None or self.ids_are_global or stored.source_id == incoming.source_id:
            return stored
        return stored if self._is_free(stored) else None

    def _refused(self, incoming: Incoming, stored: StoredPlace | None, key: int) -> Written | None:
        """Say why a document is not taken in: its id is another's, or came before."""
        source_id = incoming.source_id
        if stored and stored.source_id != source_id and not self._is_free(stored):
            return Written("taken", stored.source_id)
        seen = self._seen.setdefault(source_id, set())
        if key in seen:
            return Written("duplicate")
        seen.add(key)
        return None

    def _is_free(self, stored: StoredPlace) -> bool:
        """Tell whether a document is left behind by its file."""
        return stored.position < 0 or self.is_gone(stored.source_id)

    def vanished(self, transaction: Transaction, source_id: int) -> list[int]:
        """Return the documents that a source, now read to its end, no longer has."""
        seen = self._seen.pop(source_id, set())
        return [key for key in transaction.changes.of_source(source_id) if key not in seen]


def _outcome(stored: StoredPlace | None, digest: bytes) -> Outcome:
    if stored is None:
        return "added"
    return "unchanged" if stored.content_hash == digest else "updated"


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
        ids = {name for incoming in batch for name in (*incoming.ids, *incoming.former)}
        places = [(incoming.source_id, incoming.position) for incoming in batch]
        return cls(transaction.changes.at(sorted(ids), places), transaction.changes.new_keys())

    def find(self, incoming: Incoming) -> StoredPlace | None:
        """Return the document that has the place or the stated id of the incoming one."""
        at_place = self._by_place.get((incoming.source_id, incoming.position))
        longest = incoming.ids[-1]
        if not incoming.stated:
            # A document with an id of its own, which was here before, has moved.
            return at_place if at_place and _is_derived(at_place.id, longest) else None
        names = (*incoming.ids, *incoming.former)
        for stored in (self._by_id[name] for name in names if name in self._by_id):
            if stored.source_id == incoming.source_id:
                return stored
        if at_place and at_place.id.startswith(f"{longest} ("):  # as `free_id` makes them
            return at_place
        return self._by_id.get(incoming.ids[0])

    def free_id(self, candidates: Sequence[str], key: int) -> str:
        """Return the first candidate that no document has, else one with the document's key."""
        own = f"{candidates[-1]} ({key})"
        return next(name for name in (*candidates, own) if name not in self._by_id)

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

"""The files that documents came from, and on which machine each was read."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from sqlalchemy import text

from lpisearch.storage.sql.sources import SQLSources

if TYPE_CHECKING:
    from collections.abc import Sequence

    from lpisearch.records import Source

_NOTE = text(
    "INSERT INTO source_hosts (source_id, host) SELECT unnest(CAST(:ids AS BIGINT[])), :host "
    "ON CONFLICT (source_id) DO UPDATE SET host = excluded.host "
    "WHERE source_hosts.host <> excluded.host"
)
_ELSEWHERE = text("SELECT source_id FROM source_hosts WHERE host <> :host")
# A sequence gives no number twice, whoever asks at the same time.
_RESERVED = text("SELECT setval('source_ids', greatest(nextval('source_ids'), :least) + :number)")


class PostgreSQLSources(SQLSources):
    """Files of documents."""

    __slots__ = ()

    def save(self, sources: Sequence[Source], now: str) -> None:
        """Write sources, replacing what was known of them; they are files of this machine."""
        super().save(sources, now)
        given = {"ids": [source.id for source in sources], "host": platform.node()}
        if sources:
            self.connection.execute(_NOTE, given)

    def elsewhere(self) -> set[int]:
        """Return the keys of sources that were read by another machine."""
        return set(self.connection.execute(_ELSEWHERE, {"host": platform.node()}).scalars())

    def reserve(self, number: int) -> int:
        """Return the first of so many keys that no other source will get."""
        others = max(number - 1, 0)
        given = {"least": self.next_id(), "number": others}
        return int(self.connection.execute(_RESERVED, given).scalar_one()) - others

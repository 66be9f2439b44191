"""How SQLite finds the rows of a statement: by keys, however many documents there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from sqlalchemy import create_engine, delete, select, update
from sqlalchemy.dialects import sqlite

from lpisearch.storage.corpus import among
from lpisearch.storage.tables import DOCUMENTS, METADATA, TOKENS

if TYPE_CHECKING:
    from sqlalchemy import Delete, Select, Update

_WHERE = among(DOCUMENTS.c.id)


@pytest.mark.parametrize(
    "statement",
    [
        delete(DOCUMENTS).where(_WHERE),
        delete(TOKENS).where(among(TOKENS.c.document_id)),
        update(DOCUMENTS).where(_WHERE).values(position=0),
        select(DOCUMENTS.c.title).where(_WHERE, DOCUMENTS.c.position > 0),
    ],
    ids=str,
)
def test_keys_are_looked_up(statement: Delete | Update | Select[tuple[str]]) -> None:
    engine = create_engine("sqlite://")
    METADATA.create_all(engine)
    compiled = statement.compile(dialect=sqlite.dialect())
    given = tuple(compiled.params[name] or "[]" for name in compiled.positiontup or ())
    with engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}", given).all()
    assert any(" USING INTEGER PRIMARY KEY" in row[3] for row in plan), plan
    assert not any(row[3].startswith("SCAN document") for row in plan), plan
    engine.dispose()

"""State token of a library, changed by every writing transaction.

Triggers do it, so that what another program changes in the tables is noticed as well. It is a row
like any other: a snapshot sees the mark of its own state, and what is undone takes its mark with
it. It is drawn by chance, so that a state that a power cut took back shares its mark with no other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import text

if TYPE_CHECKING:
    from sqlalchemy import Connection

TRIGGER = "state_changes"
_MARKED = text("SELECT CAST(mark AS VARCHAR) FROM state_mark")
_FIRST = "INSERT INTO state_mark SELECT gen_random_uuid() WHERE NOT EXISTS (SELECT FROM state_mark)"
# Not by the path of the session: whoever changes a table may have another.
_FUNCTION = f"""CREATE OR REPLACE FUNCTION {TRIGGER}() RETURNS TRIGGER LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE 'UPDATE ' || quote_ident(TG_TABLE_SCHEMA)
        || '.state_mark SET mark = gen_random_uuid()';
    RETURN NULL;
END $$"""  # noqa: S608 (a constant name)
# A transaction that has changed no row so far has no number.
_WATCH = f"""CREATE TRIGGER {TRIGGER} AFTER INSERT OR UPDATE OR DELETE OR TRUNCATE ON {{table}}
FOR EACH STATEMENT WHEN (pg_current_xact_id_if_assigned() IS NOT NULL)
EXECUTE FUNCTION {TRIGGER}()"""
_TABLES = text(
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind = 'r' AND relname = ANY(CAST(:names AS VARCHAR[]))"
)


def marked(connection: Connection) -> str:
    """Return the mark of the state that a connection sees."""
    return str(connection.execute(_MARKED).scalar_one())


def watch(connection: Connection, tables: list[str]) -> None:
    """Let every change of these tables draw the mark anew."""
    connection.exec_driver_sql(_FIRST)
    connection.exec_driver_sql(_FUNCTION)
    for table in connection.execute(_TABLES, {"names": tables}).scalars().all():
        connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {TRIGGER} ON {table}")
        connection.exec_driver_sql(_WATCH.format(table=table))

"""Tables with which a database answers queries itself: vectors, postings and loadings of an index.

Each index has four tables, which are named after its folder and never change:

- `…_facts`: what the whole index has, by name;
- `…_loadings`: the row of each term of a linear map;
- `…_postings`: the entries of a term in arrays of at most 4,096: units, counts, and the saturated
  counts of BM25; of documents (kind 0), of passages (1), and of titles, headings and paths (2);
- `…_units`: documents and passages with their vector (`halfvec`), and what ranks them again.

No key refers to `documents`: to drop a table with one would wait for all readers. A document that
changed or is gone is left out when an answer reads it, as with an index in a folder.

A rebuild writes new tables in the transaction that registers it. Those of the index before stay for
readers that began earlier, until the next build.
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlalchemy import select, text

from lpisearch.errors import IndexNotOwned
from lpisearch.storage.corpus import conditions
from lpisearch.storage.postgres.database import copy_rows
from lpisearch.storage.postgres.pgvector import require_extension
from lpisearch.storage.tables import DOCUMENTS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from sqlalchemy import Row

    from lpisearch.model.documents import Filter
    from lpisearch.storage.reading import Connection


PREFIX = "lpisearch_index_"
EXACT_BELOW = 50_000
"""The number of units from which vectors are found by HNSW instead of compared one by one."""
TEXTS, PASSAGES, FIELDS = 0, 1, 2
ENTRIES = 4096
# The most candidates that pgvector allows; where a filter leaves too few, it looks on.
_HNSW_SETTINGS = {"hnsw.ef_search": "1000", "hnsw.iterative_scan": "relaxed_order"}
_DIGITS = re.compile(r"[0-9a-f]{8,64}")
_CREATE = """CREATE TABLE {t}_facts (name VARCHAR PRIMARY KEY, content BYTEA NOT NULL);
CREATE TABLE {t}_loadings (term INT PRIMARY KEY, loading BYTEA NOT NULL);
CREATE TABLE {t}_postings (kind SMALLINT, term INT, part INT, units INT[] NOT NULL,
    counts INT[] NOT NULL, worths REAL[] NOT NULL, PRIMARY KEY (kind, term, part));
CREATE TABLE {t}_units (unit INT PRIMARY KEY, owner INT NOT NULL, document_id BIGINT NOT NULL,
    embedding {schema}.halfvec({dims}) NOT NULL, length INT NOT NULL,
    distinct_terms INT NOT NULL, strongest BYTEA NOT NULL, times BYTEA NOT NULL,
    sequence BYTEA NOT NULL, hash BYTEA NOT NULL, twin INT NOT NULL,
    name_size SMALLINT NOT NULL, span_start INT NOT NULL, span_end INT NOT NULL)"""
_COLUMNS = {
    "facts": ("name", "content"),
    "loadings": ("term", "loading"),
    "postings": ("kind", "term", "part", "units", "counts", "worths"),
    "units": (
        *("unit", "owner", "document_id", "embedding", "length", "distinct_terms", "strongest"),
        *("times", "sequence", "hash", "twin", "name_size", "span_start", "span_end"),
    ),
}
_INDEXES = """CREATE INDEX ON {t}_units (document_id);
CREATE INDEX ON {t}_units (owner); ANALYZE {t}_units; ANALYZE {t}_postings"""
_HNSW = "CREATE INDEX ON {t}_units USING hnsw (embedding {schema}.halfvec_ip_ops)"
_ENTRIES = """WITH asked(kind, term, factor) AS MATERIALIZED (SELECT * FROM
    unnest(%(kinds)s::SMALLINT[], %(terms)s::INT[], %(factors)s::REAL[])),
entry AS MATERIALIZED (SELECT p.kind, p.term, e.unit, e.count, a.factor * e.worth AS part
    FROM asked a JOIN {t}_postings p ON p.kind = a.kind AND p.term = a.term,
    unnest(p.units, p.counts, p.worths) AS e(unit, count, worth)),
scored AS MATERIALIZED (SELECT kind, unit, sum(part::DOUBLE PRECISION) AS score FROM entry
    WHERE kind < 2 AND part <> 0 GROUP BY kind, unit)"""
_MOMENTS = """SELECT count(*)::INT AS hits, coalesce(sum(score), 0) AS total,
    coalesce(sum(score * score), 0) AS squares, coalesce(max(score), 0) AS most
    FROM scored WHERE kind = 0"""
_CANDIDATES = """{entries},
lexical AS (SELECT unit FROM scored {joined} ORDER BY score DESC, unit LIMIT %(most)s),
named AS (SELECT unit FROM (SELECT unit, sum(part) AS score FROM entry WHERE kind = 2
    GROUP BY unit) AS scored {joined} ORDER BY score DESC, unit LIMIT %(most)s),
semantic AS ({semantic}),
pool AS MATERIALIZED (SELECT DISTINCT owner FROM {t}_units WHERE unit = ANY(ARRAY(
    SELECT unit FROM lexical UNION SELECT unit FROM named UNION SELECT unit FROM semantic
    {first}))),
chosen AS MATERIALIZED (SELECT u.* FROM {t}_units u JOIN pool USING (owner)),
own AS (SELECT e.unit, array_agg(e.kind) AS kinds, array_agg(e.term) AS terms,
    array_agg(e.count) AS counts FROM entry e JOIN chosen USING (unit) GROUP BY e.unit)
SELECT chosen.unit, owner, document_id, {schema}.halfvec_send(embedding) AS embedding, length,
    distinct_terms, strongest, times, sequence, hash, twin, name_size, span_start, span_end,
    own.kinds, own.terms, own.counts, moments.*
FROM chosen LEFT JOIN own USING (unit) CROSS JOIN ({moments}) AS moments ORDER BY chosen.unit"""
_FEEDBACK = """{entries}, own AS (SELECT array_agg(kind) AS kinds, array_agg(term) AS terms,
    array_agg(unit) AS units, array_agg(count) AS counts FROM entry
    WHERE unit = ANY(%(units)s::INT[]))
SELECT own.*, moments.* FROM own CROSS JOIN ({moments}) AS moments"""
# With a filter, these may move the query and are not shown: as an index in a folder does it.
_FIRST = """UNION (SELECT unit FROM scored ORDER BY score DESC, unit LIMIT {number})
    UNION ({semantic})"""
_FIRST_NUMBER = 200
_SEMANTIC = """SELECT unit FROM {t}_units {where}
    ORDER BY embedding OPERATOR({schema}.<#>) CAST(%(vector)s AS {schema}.halfvec) LIMIT {most}"""
_EXISTS = text("SELECT to_regclass(quote_ident(current_schema()) || '.' || :table) IS NOT NULL")
_VERSION = text("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
_TABLES = text(
    "SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace "
    "AND relkind = 'r' AND starts_with(relname, :prefix) AND pg_has_role(relowner, 'USAGE')"
)
# From 16 on, a member may be denied SET ROLE.
_OWNER = text(
    "SELECT quote_ident(pg_get_userbyid(relowner)), quote_ident(current_user), "
    "pg_has_role(relowner, CASE WHEN current_setting('server_version_num')::INT < 160000 "
    "THEN 'MEMBER' ELSE 'SET' END) FROM pg_class WHERE oid = 'index_files'::regclass"
)
_READERS = text(
    "SELECT DISTINCT CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) "
    "END FROM pg_class, aclexplode(relacl) WHERE oid = 'index_files'::regclass "
    "AND grantee <> relowner AND privilege_type = 'SELECT'"
)


class QueryTerms(NamedTuple):
    """Terms by their numbers, the kind of postings of each, and how much each counts."""

    kinds: Sequence[int]
    terms: Sequence[int]
    factors: Sequence[float]

    def values(self) -> dict[str, Any]:
        """Return them as parameters."""
        return {name: list(values) for name, values in self._asdict().items()}


class SearchTables:
    """The tables of indexes that the database searches, by the folder of each."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def exist(self, folder: str) -> bool:
        """Tell whether an index has tables."""
        if not _DIGITS.fullmatch(folder.rpartition("-")[2]):
            return False
        return bool(
            self._connection.execute(_EXISTS, {"table": f"{_table(folder)}_units"}).scalar()
        )

    def act_as_owner(self) -> None:
        """Become the owner of the library until the transaction ends, who may drop all tables."""
        owner, role, is_allowed = self._connection.execute(_OWNER).one()
        if not is_allowed:
            raise IndexNotOwned(owner, role)
        if owner != role:
            self._connection.exec_driver_sql(f"SET LOCAL ROLE {owner}")

    def write(self, folder: str, dims: int, rows: Mapping[str, Iterable[Sequence[Any]]]) -> None:
        """Create the tables of an index; the rows are given by the ends of their names."""
        names = {"t": _table(folder), "schema": require_extension(self._connection), "dims": dims}
        self.act_as_owner()
        for statement in _CREATE.format(**names).split(";\n"):
            self._connection.exec_driver_sql(statement)
        for kind, columns in _COLUMNS.items():
            copy_rows(self._connection, f"{names['t']}_{kind}", columns, rows[kind])
        for statement in _INDEXES.format(**names).split(";"):
            self._connection.exec_driver_sql(statement)
        units = text(f"SELECT count(*) FROM {names['t']}_units")  # noqa: S608 (our name)
        if int(self._connection.execute(units).scalar_one()) >= EXACT_BELOW:
            self._connection.exec_driver_sql(_HNSW.format(**names))
        for reader in self._connection.execute(_READERS).scalars().all():
            every = ", ".join(f"{names['t']}_{kind}" for kind in _COLUMNS)
            self._connection.exec_driver_sql(f"GRANT SELECT ON {every} TO {reader}")

    def sweep(self, keep: Iterable[str]) -> None:
        """Drop the tables of all other indexes; those of another owner are left to it."""
        kept = tuple(_table(folder) for folder in keep)
        tables = self._connection.execute(_TABLES, {"prefix": PREFIX}).scalars().all()
        for table in tables:
            if not table.startswith(kept):
                self._connection.exec_driver_sql(f"DROP TABLE {table}")

    def fact(self, folder: str, name: str) -> bytes:
        """Return what the whole index has under a name."""
        statement = f"SELECT content FROM {_table(folder)}_facts WHERE name = :name"  # noqa: S608 (our name)
        return bytes(self._connection.execute(text(statement), {"name": name}).scalar_one())

    def loadings(self, folder: str, terms: Sequence[int]) -> dict[int, bytes]:
        """Return the rows of terms of the linear map."""
        statement = f"SELECT term, loading FROM {_table(folder)}_loadings WHERE term = ANY(:terms)"  # noqa: S608 (our name)
        rows = self._connection.execute(text(statement), {"terms": list(terms)})
        return {term: bytes(loading) for term, loading in rows}

    def candidates(
        self,
        folder: str,
        asked: QueryTerms,
        vector: str,
        most: int,
        within: tuple[Filter, Sequence[int] | None],
    ) -> Sequence[Row[Any]]:
        """Return the best units by words, by titles and paths, and by a vector, with their entries.

        Long documents come with all of their passages. The filter, and the keys if any are given,
        restrict all of them. No vector is "".
        """
        statement, values = self._candidates(folder, vector, *within)
        values |= asked.values() | {"most": most}
        for setting, value in _HNSW_SETTINGS.items():
            if self._version >= (0, 8) or "iterative" not in setting:
                self._connection.exec_driver_sql(f"SET LOCAL {setting} = {value}")
        return self._connection.exec_driver_sql(statement, values).all()

    def feedback(self, folder: str, asked: QueryTerms, units: Sequence[int]) -> Row[Any]:
        """Return the entries of terms in some units, and the moments of BM25 in all."""
        names = {"t": _table(folder)}
        statement = _FEEDBACK.format(entries=_ENTRIES.format(**names), moments=_MOMENTS)
        values = asked.values() | {"units": list(units)}
        return self._connection.exec_driver_sql(statement, values).one()

    @cached_property
    def _version(self) -> tuple[int, ...]:
        """The version of pgvector."""
        stated = str(self._connection.execute(_VERSION).scalar_one())
        return tuple(int(part) for part in stated.split(".") if part.isdecimal())

    def _candidates(
        self, folder: str, vector: str, where: Filter, keys: Sequence[int] | None
    ) -> tuple[str, dict[str, Any]]:
        table, values = _table(folder), dict[str, Any]()
        allowed = []
        if clauses := conditions(where):
            matching = select(DOCUMENTS.c.id).where(*clauses)
            compiled = matching.compile(
                dialect=self._connection.core.dialect, compile_kwargs={"render_postcompile": True}
            )
            values |= compiled.construct_params()
            allowed.append(f"document_id IN ({compiled})")
        if keys is not None:
            values["keys"] = list(keys)
            allowed.append("document_id = ANY(%(keys)s::BIGINT[])")
        restricted = f"WHERE {' AND '.join(allowed)}" if allowed else ""
        names = {"t": table, "schema": require_extension(self._connection)}
        semantic = first = "SELECT NULL::INT AS unit WHERE FALSE"
        if vector:
            values["vector"] = vector
            semantic = _SEMANTIC.format(**names, where=restricted, most="%(most)s")
            first = _SEMANTIC.format(**names, where="", most=_FIRST_NUMBER)
        first = _FIRST.format(number=_FIRST_NUMBER, semantic=first) if allowed else ""
        joined = f"JOIN {table}_units USING (unit) {restricted}" if allowed else ""
        statement = _CANDIDATES.format(
            **names,
            entries=_ENTRIES.format(**names),
            moments=_MOMENTS,
            semantic=semantic,
            first=first,
            joined=joined,
        )
        return statement, values


def _table(folder: str) -> str:
    """Return the beginning of the names of the tables of an index."""
    return PREFIX + folder.rpartition("-")[2]

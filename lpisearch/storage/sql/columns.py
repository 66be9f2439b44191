"""Column types per database, shared by tables and migrations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import BigInteger, Double, Float, Integer, String

if TYPE_CHECKING:
    from sqlalchemy.types import TypeEngine

# PostgreSQL orders strings as SQLite does, whatever language its server speaks.
TEXT = String(collation="C").with_variant(String(), "sqlite")
NUMBER = BigInteger().with_variant(Integer(), "sqlite")
SHARE: TypeEngine[float] = Double().with_variant(Float(), "sqlite")

"""What keeps the rooms apart."""

import re
from pathlib import Path

import lpisearch

_PACKAGE = Path(lpisearch.__file__).parent
_DATABASE = re.compile(r"\b(sqlalchemy|alembic|sqlite3|storage\.sqlite)\b")


def test_no_database_outside_its_room() -> None:
    found = [
        f"{path.relative_to(_PACKAGE)}:{number}: {line.strip()}"
        for path in sorted(_PACKAGE.rglob("*.py"))
        if "storage" not in path.relative_to(_PACKAGE).parts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1)
        if re.match(r"\s*(from|import)\s", line) and _DATABASE.search(line)
    ]
    assert found == []

"""Maintenance of a local library: health, backups and schema."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.library.opened import Opened

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from lpisearch.records import Finding


class Keeping(Opened):
    """What keeps it sound."""

    def examine(
        self, *, repair: bool = False, on_stage: Callable[[str], None] = lambda _name: None
    ) -> list[Finding]:
        """Look for damage; with `repair`, mend what can be mended."""
        from lpisearch.maintenance.doctor import examine

        return examine(self.path, repair=repair, on_stage=on_stage)

    def back_up(self, target: Path | None = None) -> Path:
        """Copy the library while it is in use; return the path of the copy."""
        from lpisearch.maintenance.copies import back_up_library

        return back_up_library(self.path, target)

    def upgrade(self) -> dict[str, Any]:
        """Bring an older library to this program's schema; every other method does so by itself."""
        from lpisearch.maintenance.copies import upgrade_library

        return upgrade_library(self.path)

    def schema_differences(self) -> list[str]:
        """Return how the tables differ from what this program expects."""
        from lpisearch.maintenance.copies import check_schema

        return check_schema(self.path)

    def retokenise(self, language: str = "") -> int:
        """Make the tokens of all documents anew, perhaps in another language; return how many."""
        from lpisearch.maintenance.tokens import retokenise

        return retokenise(self.path, language)

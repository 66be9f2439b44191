"""Maintenance of a local library: health, backups and schema."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from lpisearch.library.opened import Opened

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

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

    def split(
        self,
        folder: str | os.PathLike[str],
        shards: int = 2,
        *,
        on_stage: Callable[[str], None] = lambda _name: None,
    ) -> dict[str, Any]:
        """Write the library with its indexes as a folder of shards, which opens as one library.

        Parameters
        ----------
        folder
            Not there yet, or empty.
        shards
            How many.
        on_stage
            Called with the name of each stage as it begins.
        """
        from lpisearch.maintenance.splitting import split_library

        return split_library(self.path, Path(folder), shards, on_stage)

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

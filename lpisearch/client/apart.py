"""Methods that a remote library does not support."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from lpisearch.errors import LpiSearchError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from lpisearch.records import Report
    from lpisearch.settings import EvaluateOptions
    from lpisearch.settings.evaluation import Wanted
    from lpisearch.settings.indexes import Setting


class NotServed(LpiSearchError):
    """A method of a library that is open on its own machine alone."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"library.{name} is not available from a server.",
            "run it on the machine that has the library",
        )


class Apart:
    """Methods of `Library` that look after its file: each refuses, whatever it is given."""

    def back_up(self, target: Path | None = None) -> Path:  # noqa: ARG002 (as `Library` has it)
        """Refuse: a copy is made where the library is."""
        raise NotServed("back_up()")

    def upgrade(self) -> dict[str, Any]:
        """Refuse: the server has done so."""
        raise NotServed("upgrade()")

    def schema_differences(self) -> list[str]:
        """Refuse: the schema is looked at where the library is."""
        raise NotServed("schema_differences()")

    def retokenise(self, language: str = "") -> int:  # noqa: ARG002 (as above)
        """Refuse: all tokens are made anew where the library is."""
        raise NotServed("retokenise()")

    def evaluating(
        self,
        what: str = "all",  # noqa: ARG002 (as above)
        *,
        options: EvaluateOptions | None = None,  # noqa: ARG002 (as above)
        wanted: Wanted | None = None,  # noqa: ARG002 (as above)
        over: tuple[str, Sequence[Setting]] | None = None,  # noqa: ARG002 (as above)
        on_cell: Callable[[str, int, int], None] = lambda _name, _done, _total: None,  # noqa: ARG002 (as above)
        keep: bool = True,  # noqa: ARG002 (as above)
    ) -> AbstractContextManager[Report]:
        """Refuse: what is finished is kept on the disk of who evaluates; `evaluate` is served."""
        raise NotServed("evaluating()")

    def is_source(self, path: str) -> bool:  # noqa: ARG002 (as above)
        """Refuse: which files there are is not told."""
        raise NotServed("is_source()")

    def vector(self, text: str, *, index: str = "default") -> NDArray[np.float32]:  # noqa: ARG002 (as above)
        """Refuse: questions are placed where the index is."""
        raise NotServed("vector()")

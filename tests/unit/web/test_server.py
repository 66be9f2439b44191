"""What a server says while it runs and when it ends."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from lpisearch.web.app import create_app
from lpisearch.web.server import config_of

if TYPE_CHECKING:
    import pytest

    from lpisearch import Library


def test_an_answer_that_ends_with_the_server_is_no_error(
    opened: Library, caplog: pytest.LogCaptureFixture
) -> None:
    """Who ends a server sees no traceback of what was under way; defects are still written down."""
    config_of(create_app(opened))
    log = logging.getLogger("uvicorn.error")
    for error in (asyncio.CancelledError("ends"), ValueError("a defect")):
        log.error("Exception in ASGI application", exc_info=error)
    assert [str(record.exc_info and record.exc_info[1]) for record in caplog.records] == [
        "a defect"
    ]

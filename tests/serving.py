"""A server of a library in a thread, at a port of its own."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvicorn

from lpisearch.settings.serving import ServeSettings
from lpisearch.web.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterator

    from lpisearch import Library


@contextmanager
def served(library: Library, settings: ServeSettings | None = None) -> Iterator[str]:
    """Serve a library; give its address."""
    app = create_app(library, settings or ServeSettings())
    config = uvicorn.Config(app, access_log=False, log_config=None, lifespan="on", ws="none")
    server = uvicorn.Server(config)
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(64)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            app.state.lpisearch.jobs.announce_end()
            server.should_exit = True
            thread.join()

"""The tools by the Model Context Protocol: on standard input and output, and over HTTP.

Only this module imports the protocol's library, and only when a server starts or, over HTTP, when
the first request comes. Libraries are opened after the client has got the list of tools.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from contextlib import suppress
from functools import partial
from threading import Thread
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from anyio.to_thread import run_sync

from lpisearch import __version__
from lpisearch.agents.calls import DOCUMENTS, INSTRUCTIONS, LibraryTools, answer_text, error_text
from lpisearch.errors import AssistantsUnavailable, LpiSearchError

if TYPE_CHECKING:
    from collections.abc import Callable

    import mcp_types as types
    from mcp.server.lowlevel import Server

    T = TypeVar("T")

_LOG = logging.getLogger("lpisearch.agents")
_THREADS = 2  # answers hold the interpreter: more would wait for each other
_UNEXPECTED = "Unexpected failure; the log of the server has the details."
_INVALID = -32602  # of JSON-RPC: parameters


def serve_stdio(tools: LibraryTools) -> None:
    """Serve one client on standard input and output until it leaves."""
    server = _server(tools)

    async def run() -> None:
        from mcp.server.stdio import stdio_server

        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())

    try:
        anyio.run(run)
    finally:
        tools.stop()


def _import_protocol() -> None:
    """Import the protocol's library, whose thousand classes leave no garbage meanwhile."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        import mcp.server.lowlevel
        import mcp.server.streamable_http_manager  # noqa: F401 (as the server will)
    except ModuleNotFoundError as error:
        raise AssistantsUnavailable from error
    finally:
        if was_enabled:
            gc.enable()


def _server(tools: LibraryTools) -> Server[Any]:
    """Return the server of the protocol; each of its requests is one call of the tools."""
    _import_protocol()
    import mcp_types as types
    from mcp.server.lowlevel import Server
    from mcp.shared.exceptions import MCPError

    limiter: list[anyio.CapacityLimiter] = []

    async def in_thread(work: Callable[[], T]) -> T:
        if not limiter:  # it belongs to the loop that runs now
            limiter.append(anyio.CapacityLimiter(_THREADS))
        return await run_sync(work, limiter=limiter[0], abandon_on_cancel=True)

    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        _warm(tools)
        return types.ListToolsResult(
            tools=[types.Tool.model_validate(one) for one in tools.definitions]
        )

    async def call_tool(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        work = partial(tools.call, params.name, params.arguments or {})
        answer, problem = await in_thread(partial(_attempt, work))
        text = problem if answer is None else answer_text(answer)
        return types.CallToolResult(
            content=[types.TextContent(type="text", text=text)],
            structured_content=answer,
            is_error=answer is None,
        )

    async def list_resources(_context: Any, _params: Any) -> types.ListResourcesResult:
        found, _ = await in_thread(partial(_attempt, tools.recent))
        resources = [
            types.Resource(**one, mime_type="text/plain")  # type: ignore[arg-type]
            for one in found or []
        ]
        return types.ListResourcesResult(resources=resources)

    async def list_templates(_context: Any, _params: Any) -> types.ListResourceTemplatesResult:
        template = types.ResourceTemplate(
            uri_template=f"{DOCUMENTS}{{id}}", name="document", mime_type="text/plain"
        )
        return types.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        _context: Any, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        uri = str(params.uri)
        text, problem = await in_thread(partial(_attempt, partial(tools.resource, uri)))
        if text is None:
            raise MCPError(_INVALID, problem)
        contents = types.TextResourceContents(uri=uri, mime_type="text/plain", text=text)
        return types.ReadResourceResult(contents=[contents])

    async def complete(_context: Any, params: types.CompleteRequestParams) -> types.CompleteResult:
        work = partial(tools.complete, params.argument.value)
        values, _ = await in_thread(partial(_attempt, work))
        return types.CompleteResult(completion=types.Completion(values=values or []))

    return Server(
        "lpisearch",
        version=__version__,
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_completion=complete,
    )


def _attempt(work: Callable[[], T]) -> tuple[T | None, str]:
    """Return a result, or what went wrong in words for the client."""
    try:
        return work(), ""
    except LpiSearchError as error:
        return None, error_text(error)
    except Exception:  # noqa: BLE001 (one call; the server goes on)
        _LOG.exception("A request of an assistant failed")
        return None, _UNEXPECTED


def _warm(tools: LibraryTools) -> None:
    """Open the libraries in a thread, the first time."""
    if not tools.is_warm:
        tools.is_warm = True
        Thread(target=tools.warm, name="warming", daemon=True).start()


class HttpFace:
    """An ASGI application that serves clients over HTTP, without sessions.

    Each request is answered as JSON; the protocol's library is imported at the first one.
    """

    def __init__(self, tools: LibraryTools) -> None:
        self._tools = tools
        self._manager: Any = None
        self._starting = asyncio.Lock()
        self._task: asyncio.Task[None] | None = None
        self._ended = asyncio.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request; raises `AssistantsUnavailable`."""
        async with self._starting:
            if self._manager is None:
                self._manager = await self._start()
        await self._manager.handle_request(scope, receive, send)

    async def _start(self) -> Any:
        server = await run_sync(_server, self._tools)
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        manager = StreamableHTTPSessionManager(server, json_response=True, stateless=True)
        ready = asyncio.Event()

        async def run() -> None:  # in one task, as its group of tasks demands
            async with manager.run():
                ready.set()
                await self._ended.wait()

        self._task = asyncio.create_task(run())
        await ready.wait()
        return manager

    async def close(self) -> None:
        """End the task that the first request began."""
        self._tools.stop()
        self._ended.set()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task

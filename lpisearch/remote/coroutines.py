"""AsyncLibrary: the methods of a library as coroutines, for programs with an event loop.

Each call runs in a thread, so that the loop goes on. A task that is cancelled stops waiting at
once; the call that it began ends by itself, at the latest after the `seconds` of a connection.
"""

from __future__ import annotations

import asyncio
import functools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, Self, TypeVar

from lpisearch.remote.client import RemoteLibrary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Coroutine, Iterator

P = ParamSpec("P")
T = TypeVar("T")
_THREADS = 8
_END: Any = object()


def _coroutine(
    method: Callable[Concatenate[RemoteLibrary, P], T],
) -> Callable[Concatenate[AsyncLibrary, P], Coroutine[Any, Any, T]]:
    """Return a coroutine function that calls a method in a thread."""

    @functools.wraps(method)
    async def awaited(self: AsyncLibrary, /, *args: P.args, **options: P.kwargs) -> T:
        result: T = await self._in_thread(_named(self, method), *args, **options)
        return result

    return awaited


def _stream(
    method: Callable[Concatenate[RemoteLibrary, P], Iterator[T]],
) -> Callable[Concatenate[AsyncLibrary, P], AsyncIterator[T]]:
    """Return a function for `async for`, whose items a thread fetches one after the other."""

    @functools.wraps(method)
    async def items(self: AsyncLibrary, /, *args: P.args, **options: P.kwargs) -> AsyncIterator[T]:
        loop = asyncio.get_running_loop()
        with ThreadPoolExecutor(1, "lpisearch") as thread:  # a transaction belongs to its thread
            begin = functools.partial(_named(self, method), *args, **options)
            iterator = await loop.run_in_executor(thread, lambda: iter(begin()))
            try:
                while (
                    item := await loop.run_in_executor(thread, next, iterator, _END)
                ) is not _END:
                    yield item
            finally:
                if close := getattr(iterator, "close", None):
                    await loop.run_in_executor(thread, close)

    return items


def _named(library: AsyncLibrary, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of the library that has the same name."""
    found: Callable[..., Any] = getattr(library.library, method.__name__)
    return found


class AsyncLibrary:
    """A library whose methods are awaited: those of `Library`, with the same arguments and errors.

    `batch`, `classify_each` and the documents (`async for document in library`) are asynchronous
    iterators. Any number of tasks may use it; `threads` of their calls run at a time.

    Parameters
    ----------
    library
        From `lpisearch.open` or `lpisearch.connect`; it is closed with this one.
    threads
        The most calls at a time.

    Examples
    --------
    >>> import asyncio
    >>> async def count(texts):
    ...     async with AsyncLibrary(lpisearch.open("notes.db")) as library:
    ...         return len(await asyncio.gather(*map(library.search, texts)))
    >>> asyncio.run(count([]))
    0
    """

    def __init__(self, library: Any, *, threads: int = _THREADS) -> None:
        self.library = library
        self._threads = ThreadPoolExecutor(threads, "lpisearch")

    def __repr__(self) -> str:
        return f"AsyncLibrary({self.library!r})"

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self.close()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self.documents()

    async def close(self) -> None:
        """Wait for running calls, and release the files or connections."""
        await asyncio.to_thread(self._threads.shutdown)
        if isinstance(self.library, RemoteLibrary):
            self.library._transport.close_all()  # noqa: SLF001 (of all threads, which have ended)
        await asyncio.to_thread(self.library.close)

    async def count(self) -> int:
        """Return the number of documents."""
        return await self._in_thread(len, self.library)

    async def _in_thread(self, call: Callable[..., T], *args: Any, **options: Any) -> T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, functools.partial(call, *args, **options))

    back_up = _coroutine(RemoteLibrary.back_up)
    classify = _coroutine(RemoteLibrary.classify)
    delete = _coroutine(RemoteLibrary.delete)
    dimensions = _coroutine(RemoteLibrary.dimensions)
    document = _coroutine(RemoteLibrary.document)
    entries = _coroutine(RemoteLibrary.entries)
    evaluate = _coroutine(RemoteLibrary.evaluate)
    examine = _coroutine(RemoteLibrary.examine)
    export = _coroutine(RemoteLibrary.export)
    export_vectors = _coroutine(RemoteLibrary.export_vectors)
    facets = _coroutine(RemoteLibrary.facets)
    forget_predicted = _coroutine(RemoteLibrary.forget_predicted)
    index = _coroutine(RemoteLibrary.index)
    ingest = _coroutine(RemoteLibrary.ingest)
    label = _coroutine(RemoteLibrary.label)
    listing = _coroutine(RemoteLibrary.listing)
    map = _coroutine(RemoteLibrary.map)
    marks = _coroutine(RemoteLibrary.marks)
    names = _coroutine(RemoteLibrary.names)
    plan = _coroutine(RemoteLibrary.plan)
    original = _coroutine(RemoteLibrary.original)
    predict_labels = _coroutine(RemoteLibrary.predict_labels)
    predicted = _coroutine(RemoteLibrary.predicted)
    reason = _coroutine(RemoteLibrary.reason)
    related_words = _coroutine(RemoteLibrary.related_words)
    search = _coroutine(RemoteLibrary.search)
    similar = _coroutine(RemoteLibrary.similar)
    state = _coroutine(RemoteLibrary.state)
    status = _coroutine(RemoteLibrary.status)
    topics = _coroutine(RemoteLibrary.topics)
    traits = _coroutine(RemoteLibrary.traits)
    vector = _coroutine(RemoteLibrary.vector)
    vectors = _coroutine(RemoteLibrary.vectors)
    writer = _coroutine(RemoteLibrary.writer)
    batch = _stream(RemoteLibrary.batch)
    classify_each = _stream(RemoteLibrary.classify_each)
    documents = _stream(RemoteLibrary.__iter__)
    query = search

"""Encoders: models of the user's own that turn a text into a vector.

The program has none and needs none. An encoder is an object with the methods of `Encoder`, a
function of texts, a table of word vectors, or a server on this machine. It is named by its user
alone, on the command line, in a call or in his own settings file: a library stores the name of the
encoder that made its vectors, but never leads to importing a module or calling an address.

    NAME               an entry point of the group `lpisearch.encoders`
    MODULE:NAME        an encoder, a class or function that makes one, or a function of texts
    http://…[#MODEL]   a server of the form of OpenAI's /v1/embeddings
    FILE.txt, .npz     word vectors
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from importlib import import_module
from importlib.metadata import entry_points
from inspect import Parameter, signature
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable
from urllib.parse import urlsplit

import numpy as np

from lpisearch.errors import EncoderFailed, EncoderNotFound
from lpisearch.messages import nearest

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

ENTRY_POINTS = "lpisearch.encoders"
AT_ONCE = 32  # the most texts that are encoded in one call
# What shows that another model has the name: its vector differs.
PROBE = "The old bridge over the river was repaired in spring; trains cross it again at night."
_SECONDS = 300
_MOST_BYTES = 1 << 28
_TABLES = frozenset({".txt", ".vec", ".npz"})
_OK = 200
_WORD = re.compile(r"[^\W_]+")


@runtime_checkable
class Encoder(Protocol):
    """A model that turns texts into vectors, whose cosine tells how near they are in meaning.

    Attributes
    ----------
    name
        Of the model. Vectors that are stored under it are not computed again.
    dims
        The number of dimensions.
    """

    name: str
    dims: int

    def documents(self, texts: Sequence[str]) -> Any:
        """Return the vectors of parts of documents (texts x dims)."""
        ...

    def query(self, text: str) -> Any:
        """Return the vector of a query."""
        ...


Encoding: TypeAlias = str | Encoder | Callable[[Sequence[str]], Any]
"""An encoder, its name, or a function from texts to vectors (texts x dims)."""


class CheckedEncoder:
    """An encoder whose vectors are checked, and brought to unit length."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.name, self.dims = str(encoder.name), int(encoder.dims)

    def documents(self, texts: Sequence[str]) -> Floats:
        """Return the vectors of texts as rows."""
        parts = [texts[start : start + AT_ONCE] for start in range(0, len(texts), AT_ONCE)]
        rows = [self._checked(self._encoder.documents, part, len(part)) for part in parts]
        return np.concatenate(rows) if rows else np.empty((0, self.dims), np.float32)

    def query(self, text: str) -> Floats:
        """Return the vector of a query."""
        row: Floats = self._checked(self._encoder.query, text, 1)[0]
        return row

    def probe(self) -> Floats:
        """Return the vector by which a model is recognised."""
        row: Floats = self.documents([PROBE])[0]
        return row

    def _checked(self, encode: Callable[[Any], Any], given: Any, count: int) -> Floats:
        try:
            rows = np.asarray(encode(given), np.float32)
        except EncoderFailed:
            raise
        except Exception as error:  # a model may raise anything
            raise EncoderFailed(self.name, f"{type(error).__name__}: {error}") from error
        if rows.size != count * self.dims:
            wrong = f"it returned numbers of shape {rows.shape}, not {(count, self.dims)}"
            raise EncoderFailed(self.name, wrong)
        if not np.isfinite(rows).all():
            raise EncoderFailed(self.name, "it returned numbers that are not finite")
        rows = rows.reshape(count, self.dims)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        return np.asarray(rows / np.where(lengths > 0, lengths, 1), np.float32)


def open_encoder(encoding: Encoding) -> CheckedEncoder:
    """Return the encoder that a user has named or passed: `EncoderNotFound` if there is none."""
    found = _named(encoding) if isinstance(encoding, str) else encoding
    name = encoding if isinstance(encoding, str) else getattr(encoding, "__qualname__", "function")
    return CheckedEncoder(_made(found, name))


def _named(name: str) -> Any:
    if name.startswith(("http://", "https://")):
        return EmbeddingServer(name)
    if Path(name).suffix in _TABLES:
        return WordVectors.read(Path(name))
    module, colon, attribute = name.partition(":")
    if not colon:
        return _entry_point(name)
    try:
        found: Any = import_module(module)
        for part in attribute.split("."):
            found = getattr(found, part)
    except (ImportError, AttributeError) as error:
        raise EncoderNotFound(name, str(error)) from error
    return found


def _entry_point(name: str) -> Any:
    points = {point.name: point for point in entry_points(group=ENTRY_POINTS)}
    if name not in points:
        installed = ", ".join(sorted(points)) or "none"
        reason = f"no installed package has an encoder of this name{nearest(name, points)}"
        raise EncoderNotFound(name, f"{reason} (installed: {installed})")
    try:
        return points[name].load()
    except (ImportError, AttributeError) as error:
        raise EncoderNotFound(name, str(error)) from error


def _made(found: Any, name: str) -> Encoder:
    """Return an encoder from what was found: one, what makes one, or a function of texts."""
    is_encoder = hasattr(found, "documents") and hasattr(found, "query")
    if is_encoder and not isinstance(found, type):
        made: Encoder = found
        return made
    if not callable(found):
        raise EncoderNotFound(name, f"{type(found).__name__} has no methods documents and query")
    try:
        if isinstance(found, type) or not _required(found):
            return _made(found(), name)
        return _Function(found, name)
    except (EncoderFailed, EncoderNotFound):
        raise
    except Exception as error:  # a model may raise anything
        raise EncoderFailed(name, f"{type(error).__name__}: {error}") from error


def _required(function: Callable[..., Any]) -> bool:
    """Tell whether a function has a parameter without a default."""
    kinds = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    parameters = signature(function).parameters.values()
    return any(one.kind in kinds and one.default is Parameter.empty for one in parameters)


class _Function:
    """A function from texts to vectors."""

    def __init__(self, function: Callable[[Sequence[str]], Any], name: str) -> None:
        self.name = name
        self.documents = function
        self.dims = int(np.asarray(function([PROBE])).shape[-1])

    def query(self, text: str) -> Any:
        return self.documents([text])


class EmbeddingServer:
    """A server with the form of OpenAI's `/v1/embeddings`, mostly on this machine.

    The model is named after `#` in the address. Nothing is sent through a proxy or elsewhere.
    """

    def __init__(self, address: str) -> None:
        self.name = address
        parts = urlsplit(address)
        if parts.username or not parts.hostname:
            raise EncoderNotFound(address, "the address must be http://HOST:PORT/v1/embeddings")
        self._parts = parts
        self.dims = len(self.documents([PROBE])[0])

    def documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Send texts to the server, and return their vectors."""
        answer = self._post({"model": self._parts.fragment or "default", "input": list(texts)})
        try:
            rows = sorted(answer["data"], key=lambda row: row.get("index", 0))
            vectors = [[float(value) for value in row["embedding"]] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EncoderFailed(self.name, "its answer has no list of embeddings") from error
        if len(vectors) != len(texts) or not vectors[0]:
            wrong = f"it returned {len(vectors)} vectors for {len(texts)} texts"
            raise EncoderFailed(self.name, wrong)
        return vectors

    def query(self, text: str) -> list[list[float]]:
        """Send a query to the server."""
        return self.documents([text])

    def _post(self, body: Any) -> Any:
        parts = self._parts
        kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_SECONDS)
        target = parts.path or "/v1/embeddings"
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        try:
            connection.request("POST", target, json.dumps(body).encode(), headers)
            response = connection.getresponse()
            content = response.read(_MOST_BYTES)
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise EncoderFailed(self.name, reason) from error
        finally:
            connection.close()
        if response.status != _OK:
            said = content[:200].decode("utf-8", "replace").strip()
            raise EncoderFailed(self.name, f"it answered {response.status}: {said}")
        try:
            return json.loads(content)
        except ValueError as error:
            raise EncoderFailed(self.name, "its answer is not JSON") from error


class WordVectors:
    """A table of word vectors: a text has the mean of those of its words, the rare ones most.

    Words are in the order of how often they occur, as such tables are: the word at rank r of a
    language is about as frequent as 1/r, so its weight is log(1 + r).
    """

    def __init__(self, name: str, words: Sequence[str], vectors: Any) -> None:
        self.name = name
        self._vectors = np.asarray(vectors, np.float32)
        self.dims = int(self._vectors.shape[1])
        self._rows = {word.casefold(): row for row, word in reversed(list(enumerate(words)))}

    @classmethod
    def read(cls, path: Path) -> WordVectors:
        """Read a text file (a word and its numbers in a line), or words and vectors of an .npz."""
        try:
            if path.suffix == ".npz":
                with np.load(path, allow_pickle=False) as arrays:
                    return cls(str(path), arrays["words"].tolist(), arrays["vectors"])
            with path.open(encoding="utf-8", errors="replace") as lines:
                rows = [line.rstrip().rsplit(" ") for line in islice(lines, None)]
            rows = rows[1:] if rows and len(rows[0]) == 2 else rows  # noqa: PLR2004 (a head: words, dims)
            dims = len(rows[0]) - 1
            rows = [row for row in rows if len(row) == dims + 1]
            vectors = np.array([row[1:] for row in rows], np.float32)
            return cls(str(path), [row[0] for row in rows], vectors)
        except (OSError, KeyError, ValueError, IndexError) as error:
            raise EncoderNotFound(str(path), f"not a table of word vectors ({error})") from error

    def documents(self, texts: Sequence[str]) -> Floats:
        """Return the mean of the vectors of the words of each text."""
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> Floats:
        """Return the mean of the vectors of the words of a text; zeros if it has none of them."""
        words = _WORD.findall(text.casefold())
        rows = [self._rows[word] for word in words if word in self._rows]
        if not rows:
            return np.zeros(self.dims, np.float32)
        weights = np.array([math.log(2 + row) for row in rows], np.float32)
        return np.asarray(weights @ self._vectors[rows], np.float32)

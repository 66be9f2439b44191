"""A user's own encoder: how it is named, opened and checked."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lpisearch.errors import EncoderFailed, EncoderNotFound
from lpisearch.text import encoders
from lpisearch.text.encoders import PROBE, open_encoder
from tests.encoders import Synonyms, as_function


class _Embeddings(BaseHTTPRequestHandler):
    broken = False

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        vectors = as_function(asked["input"]).tolist()
        data = [{"index": at, "embedding": row} for at, row in enumerate(vectors)][::-1]
        self.send_response(500 if self.broken else 200)
        self.end_headers()
        self.wfile.write(json.dumps({"data": data, "model": asked["model"]}).encode())

    def log_message(self, *_given: Any) -> None:
        """Print nothing."""


@contextmanager
def embeddings(*, broken: bool = False) -> Iterator[str]:
    handler = type("Handler", (_Embeddings,), {"broken": broken})
    with HTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1/embeddings#small"
        server.shutdown()


def test_an_encoder_is_an_object_a_function_or_a_name(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    point = EntryPoint("small", "tests.encoders:Synonyms", encoders.ENTRY_POINTS)
    monkeypatch.setattr(encoders, "entry_points", lambda group: [point] if group else [])
    right = Synonyms().query(PROBE)
    right /= np.linalg.norm(right)
    with embeddings() as address:
        named = ["small", "tests.encoders:Synonyms", "tests.encoders:as_function", address]
        encodings: list[Any] = [Synonyms(), as_function, Synonyms, *named]
        for encoding in encodings:
            encoder = open_encoder(encoding)
            np.testing.assert_allclose(encoder.query(PROBE), right, atol=1e-5)
            np.testing.assert_allclose(encoder.documents(["", PROBE])[1], right, atol=1e-5)
            assert encoder.dims == 64


@pytest.mark.parametrize("suffix", [".txt", ".npz"])
def test_a_table_of_word_vectors_is_an_encoder(tmp_path: Path, suffix: str) -> None:
    path, words, vectors = tmp_path / f"words{suffix}", ["the", "Cat", "hund"], np.eye(3)
    if suffix == ".npz":
        np.savez(path, words=np.array(words), vectors=vectors)
    else:
        rows = [" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True)]
        path.write_text("3 3\n" + "\n".join(rows) + "\n", encoding="utf-8")
    encoder = open_encoder(str(path))
    cosines = encoder.documents(["the cat", "Hund!", "xyz"]) @ encoder.query("cat")
    assert cosines[0] > 0.8  # the commonest word counts least
    assert cosines[1:].tolist() == [0, 0]


@pytest.mark.parametrize(
    "name", ["nosuch", "tests.encoders:nosuch", "nosuch:nosuch", "tests.encoders:MEANINGS", "a.npz"]
)
def test_a_name_that_leads_to_no_encoder_is_refused(name: str) -> None:
    with pytest.raises(EncoderNotFound, match=name):
        open_encoder(name)


def test_a_failing_encoder_is_reported() -> None:
    with embeddings(broken=True) as address, pytest.raises(EncoderFailed, match="answered 500"):
        open_encoder(address)
    with pytest.raises(EncoderFailed, match="not finite"):
        open_encoder("tests.encoders:broken").query("anything")
    with pytest.raises(EncoderFailed, match="shape"):
        open_encoder(lambda _texts: np.ones((1, 4))).documents(["a", "b"])

"""Small encoders for tests: deterministic, and without a model."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

MEANINGS = {"automobile": "car", "auto": "car", "physician": "doctor", "sick": "ill"}


class Synonyms:
    """Adds up a fixed vector for each word; synonyms have the same one."""

    def __init__(self, name: str = "synonyms", salt: str = "", dims: int = 64) -> None:
        self.name, self.dims, self._salt = name, dims, salt
        self.encoded: list[str] = []

    def documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Encode texts, and remember which."""
        self.encoded += texts
        return np.stack([self.query(text) for text in texts])

    def query(self, text: str) -> NDArray[np.float32]:
        """Encode a query."""
        words = text.casefold().replace(".", " ").replace("?", " ").split()
        rows = [self._vector(MEANINGS.get(word, word)) for word in words]
        return np.sum(rows, axis=0) if rows else np.zeros(self.dims, np.float32)

    def _vector(self, word: str) -> NDArray[np.float32]:
        seed = int.from_bytes(sha256(f"{self._salt}{word}".encode()).digest()[:8])
        return np.random.default_rng(seed).standard_normal(self.dims).astype(np.float32)


class Noise(Synonyms):
    """Gives each text a direction of its own, which says nothing."""

    def query(self, text: str) -> NDArray[np.float32]:
        """Encode a text by its hash."""
        return self._vector(text)


def as_function(texts: Sequence[str]) -> NDArray[np.float32]:
    """Encode texts as a plain function."""
    return Synonyms().documents(texts)


def broken(texts: Sequence[str]) -> NDArray[np.float32]:
    """Return numbers that are not finite for texts other than the probe."""
    return np.full((len(texts), 3), 1.0 if "bridge" in texts[0] else np.nan)

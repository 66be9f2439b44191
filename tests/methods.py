"""All methods by name; it loads every one of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from lpisearch.methods.catalogue import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping

    from lpisearch.methods.base import DocumentTransformer, Embedding, Projection

METHODS: Mapping[str, type[DocumentTransformer]] = {
    name: method.load() for name, method in CATALOGUE.items()
}

PROJECTIONS: Mapping[str, type[Projection]] = {
    name: cast("type[Projection]", METHODS[name])
    for name, method in CATALOGUE.items()
    if method.is_linear
}

EMBEDDINGS: Mapping[str, type[Embedding]] = {
    name: cast("type[Embedding]", METHODS[name])
    for name, method in CATALOGUE.items()
    if not method.is_linear
}

"""All methods by name; it loads every one of them."""

from collections.abc import Mapping
from typing import cast

from lpisearch.methods.base import DocumentTransformer, Embedding, Projection
from lpisearch.methods.catalogue import CATALOGUE

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

"""Shell completion for methods, labels, indexes and documents.

It is asked at every press of a key: nothing is imported but what is needed, and whatever goes
wrong proposes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer  # noqa: TC002 (Typer reads the annotations)

if TYPE_CHECKING:
    from collections.abc import Callable

_MOST = 100


def ways(incomplete: str) -> list[str]:
    """Propose what ranks documents."""
    return _beginning(["hybrid", "semantic", "lexical"], incomplete)


def methods(incomplete: str) -> list[str]:
    """Propose methods."""
    from lpisearch.library import method_names

    return _beginning(method_names(), incomplete)


def sorts(incomplete: str) -> list[str]:
    """Propose orders of hits."""
    from lpisearch.settings import SORTS

    return _beginning(list(SORTS), incomplete)


def classifiers(incomplete: str) -> list[str]:
    """Propose classifiers."""
    from lpisearch.library import classifier_names

    return _beginning(classifier_names(), incomplete)


def keys(incomplete: str) -> list[str]:
    """Propose settings."""
    from lpisearch.settings.preferences import KEYS

    return _beginning(list(KEYS), incomplete)


def labelled(context: typer.Context, incomplete: str) -> list[str]:
    """Propose documents; after a plus or a minus, labels."""
    sign = incomplete[:1]
    if sign in {"+", "-"}:
        return [f"{sign}{name}" for name in labels(context, incomplete[1:])]
    return documents(context, incomplete)


def names_of(kind: str) -> Callable[[typer.Context, str], list[str]]:
    """Return what proposes the labels, indexes or documents of the library that is meant."""

    def propose(context: typer.Context, incomplete: str) -> list[str]:
        try:
            found: list[str] = _invocation(context).library.names(kind, incomplete, _MOST)
        except Exception:  # noqa: BLE001 (a shell that completes shows no errors)
            return []
        return found

    return propose


def _invocation(context: Any) -> Any:
    from lpisearch.cli.invocation import Invocation

    return context.obj if isinstance(context.obj, Invocation) else Invocation(None)


def _beginning(names: list[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


labels, indexes, documents = map(names_of, ("label", "index", "document"))

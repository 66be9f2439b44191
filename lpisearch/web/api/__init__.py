"""The JSON API, under `/api/v1`."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.routing import BaseRoute

ROUTES: list[BaseRoute] = []

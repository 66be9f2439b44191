"""What people see: one module for each page, in `ROUTES`."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages.reasons import why
from lpisearch.web.pages.searching import search

ROUTES: list[BaseRoute] = [
    Route("/", search, name="search"),
    Route("/why", why),
]

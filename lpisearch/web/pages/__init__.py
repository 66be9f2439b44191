"""What people see: one module for each page, in `ROUTES`."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages import maps
from lpisearch.web.pages.documents import change_labels, document
from lpisearch.web.pages.files import original
from lpisearch.web.pages.reasons import why
from lpisearch.web.pages.searching import search

ROUTES: list[BaseRoute] = [
    Route("/", search, name="search"),
    Route("/why", why),
    Route("/document", document),
    Route("/document/file", original),
    Route("/document/labels", change_labels, methods=["POST"]),
    Route("/map", maps.map_page),
    Route("/map/data", maps.map_data),
    Route("/map/points", maps.map_points),
    Route("/map/documents", maps.map_documents),
    Route("/map/lit", maps.map_lit),
    Route("/map/place", maps.map_place),
]

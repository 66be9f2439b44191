"""HTML pages, one module each, listed in `ROUTES`."""

from __future__ import annotations

from starlette.routing import BaseRoute, Route

from lpisearch.web.pages import maps, overview, upkeep
from lpisearch.web.pages.documents import change_labels, document
from lpisearch.web.pages.evaluations import evaluate, evaluation_page
from lpisearch.web.pages.files import original
from lpisearch.web.pages.login import login
from lpisearch.web.pages.reasons import why
from lpisearch.web.pages.searching import search

_POST = ["POST"]
ROUTES: list[BaseRoute] = [
    Route("/", search, name="search"),
    Route("/why", why),
    Route("/document", document),
    Route("/document/file", original),
    Route("/document/labels", change_labels, methods=_POST),
    Route("/map", maps.map_page),
    Route("/map/data", maps.map_data),
    Route("/map/points", maps.map_points),
    Route("/map/documents", maps.map_documents),
    Route("/map/lit", maps.map_lit),
    Route("/map/place", maps.map_place),
    Route("/topics", overview.topics_page),
    Route("/labels", overview.labels_page),
    Route("/classify", overview.classify_page),
    Route("/upload/classify", overview.classify, methods=_POST),
    Route("/upload/classify", overview.classify_page),
    Route("/evaluation", evaluation_page),
    Route("/evaluation", evaluate, methods=_POST),
    Route("/library", upkeep.library_page),
    Route("/library/health", upkeep.health),
    Route("/library/jobs", upkeep.jobs_part),
    Route("/library/ingest", upkeep.ingest, methods=_POST),
    Route("/library/index", upkeep.index, methods=_POST),
    Route("/library/stop", upkeep.stop, methods=_POST),
    Route("/upload/files", upkeep.upload, methods=_POST),
    Route("/help", overview.help_page),
    Route("/login", login, methods=["GET", "POST"], name="login"),
]

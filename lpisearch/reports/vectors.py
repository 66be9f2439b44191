"""Embed a matplotlib figure as accessible inline SVG."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from lpisearch.reports.cells import shown
from lpisearch.wording import printable

if TYPE_CHECKING:
    from lpisearch.records import Figure, Series

_SVG = "http://www.w3.org/2000/svg"
_LINK = "{http://www.w3.org/1999/xlink}href"
_LEFT_OUT = (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style")


def embeddable(svg: bytes, figure: Figure, prefix: str, ink: str) -> str:
    """Give the `<svg>` element of a file, fit to stand in a page beside others.

    Its style sheet would hold for the whole page, its ids could be those of another picture,
    and its ink be that of the paper.
    """
    root = ET.fromstring(svg)  # noqa: S314 (written by matplotlib a moment ago)
    for child in list(root.iter()):
        for left_out in [inner for inner in child if inner.tag in _LEFT_OUT]:
            child.remove(left_out)
    for element in root.iter():
        element.tag = element.tag.removeprefix(f"{{{_SVG}}}")
        for name, value in list(element.attrib.items()):
            element.attrib[name] = _own(name, value, prefix, ink)
        if _LINK in element.attrib:
            element.set("href", element.attrib.pop(_LINK))
    _describe(root, figure, prefix)
    return ET.tostring(root, encoding="unicode", short_empty_elements=True)


def _own(name: str, value: str, prefix: str, ink: str) -> str:
    if name == "id":
        return prefix + value
    if name == _LINK:
        return re.sub("^#", f"#{prefix}", value)
    return value.replace("url(#", f"url(#{prefix}").replace(ink, "currentColor")


def _describe(root: ET.Element, figure: Figure, prefix: str) -> None:
    root.attrib.pop("width", None)  # the page gives it its size, the viewBox its shape
    root.attrib.pop("height", None)
    names = f"{prefix}title", f"{prefix}desc"
    root.set("xmlns", _SVG)
    root.set("role", "img")
    root.set("aria-labelledby", " ".join(names))
    root.set("style", "stroke-linejoin: round; stroke-linecap: butt")
    title, desc = (
        ET.Element(tag, {"id": name}) for tag, name in zip(("title", "desc"), names, strict=True)
    )
    title.text = printable(figure.title)
    lines = "; ".join(_in_words(figure, series) for series in figure.series)
    desc.text = f"{printable(figure.y_label)} by {printable(figure.x_label)}. {lines}."
    root[:0] = [title, desc]


def _in_words(figure: Figure, series: Series) -> str:
    values = [shown(figure.y_label, y) for y in series.y]
    if not values:
        return f"{printable(series.name)}: no values"
    if series in figure.baselines:
        return f"{printable(series.name)}: {values[0]} throughout"
    points = ", ".join(
        f"{y} at {printable(figure.said(x))}" for x, y in zip(series.x, values, strict=True)
    )
    return f"{printable(series.name)}: {points}"

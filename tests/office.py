"""The smallest honest files of office formats, made part by part."""

import io
import struct
import zipfile

_REL = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_A = "http://schemas.openxmlformats.org/drawingml/2006/main"
_P = "http://schemas.openxmlformats.org/presentationml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_ODF = (
    'xmlns:office="urn:oasis:names:tc:opendocument:xmlns:office:1.0"'
    ' xmlns:text="urn:oasis:names:tc:opendocument:xmlns:text:1.0"'
    ' xmlns:table="urn:oasis:names:tc:opendocument:xmlns:table:1.0"'
    ' xmlns:draw="urn:oasis:names:tc:opendocument:xmlns:drawing:1.0"'
    ' xmlns:presentation="urn:oasis:names:tc:opendocument:xmlns:presentation:1.0"'
)


def zipped(parts: dict[str, str]) -> bytes:
    """Return an archive of these parts."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return stream.getvalue()


def relations(**targets: tuple[str, str]) -> str:
    """Return the part that names others, by id: their kinds and places."""
    inner = "".join(
        f'<Relationship Id="{name}" Type="{_REL}/{kind}" Target="{target}"/>'
        for name, (kind, target) in targets.items()
    )
    return (
        f'<Relationships xmlns="http://schemas.openxmlformats.org/package">{inner}</Relationships>'
    )


def _shape(text: str, kind: str = "") -> str:
    placeholder = f'<p:nvSpPr><p:nvPr><p:ph type="{kind}"/></p:nvPr></p:nvSpPr>' if kind else ""
    return f"<p:sp>{placeholder}<p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"


def _slide(*shapes: str) -> str:
    return (
        f'<p:sld xmlns:p="{_P}" xmlns:a="{_A}"><p:cSld><p:spTree>{"".join(shapes)}'
        "</p:spTree></p:cSld></p:sld>"
    )


def presentation() -> bytes:
    """Return a PPTX of two slides, of which the second in the package comes first."""
    slides = '<p:sldId id="256" r:id="r2"/><p:sldId id="257" r:id="r1"/>'
    return zipped(
        {
            "_rels/.rels": relations(a=("officeDocument", "ppt/presentation.xml")),
            "ppt/presentation.xml": f'<p:presentation xmlns:p="{_P}" xmlns:r="{_REL}">'
            f"<p:sldIdLst>{slides}</p:sldIdLst></p:presentation>",
            "ppt/_rels/presentation.xml.rels": relations(
                r1=("slide", "slides/slide1.xml"), r2=("slide", "slides/slide2.xml")
            ),
            "ppt/slides/slide1.xml": _slide(_shape("Last words"), _shape("7", "sldNum")),
            "ppt/slides/slide2.xml": _slide(_shape("Boats", "ctrTitle"), _shape("They float.")),
            "ppt/slides/_rels/slide2.xml.rels": relations(n=("notesSlide", "../notesSlides/n.xml")),
            "ppt/notesSlides/n.xml": _slide(_shape("Speak slowly.", "body"), _shape("2", "sldNum")),
        }
    )


def workbook() -> bytes:
    """Return an XLSX with shared and inline strings, a number, a date and a truth value."""
    cells = (
        '<row><c t="s"><v>0</v></c><c t="inlineStr"><is><t>Wood</t></is></c></row>'
        '<row><c t="str"><v>oak</v></c><c><v>7.5</v></c><c s="1"><v>45413</v></c>'
        '<c s="2"><v>45413.75</v></c><c t="b"><v>1</v></c></row><row/>'
    )
    return zipped(
        {
            "_rels/.rels": relations(a=("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{_S}" xmlns:r="{_REL}"><sheets>'
            '<sheet name="Prices" sheetId="1" r:id="r1"/><sheet name="Empty" r:id="r9"/>'
            "</sheets></workbook>",
            "xl/_rels/workbook.xml.rels": relations(
                r1=("worksheet", "worksheets/sheet1.xml"),
                r2=("sharedStrings", "sharedStrings.xml"),
                r3=("styles", "styles.xml"),
            ),
            "xl/sharedStrings.xml": f'<sst xmlns="{_S}"><si><r><t>Ki</t></r><r><t>nd</t></r>'
            "<rPh><t>said</t></rPh></si></sst>",
            "xl/styles.xml": f'<styleSheet xmlns="{_S}"><numFmts><numFmt numFmtId="170"'
            ' formatCode="yyyy\\-mm\\-dd hh:mm"/></numFmts><cellXfs><xf numFmtId="0"/>'
            '<xf numFmtId="14"/><xf numFmtId="170"/></cellXfs></styleSheet>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_S}"><sheetData>{cells}'
            "</sheetData></worksheet>",
        }
    )


def opendocument(body: str) -> bytes:
    """Return an OpenDocument file with a body."""
    return zipped(
        {
            "content.xml": f"<office:document-content {_ODF}><office:body>{body}"
            "</office:body></office:document-content>"
        }
    )


SHEETS = (
    '<office:spreadsheet><table:table table:name="Prices"><table:table-row><table:table-cell>'
    "<text:p>Kind</text:p></table:table-cell><table:table-cell><text:p>oak</text:p>"
    '</table:table-cell></table:table-row></table:table><table:table table:name="None"/>'
    '<table:table table:name="More"><table:table-row><table:table-cell><text:p>7</text:p>'
    "</table:table-cell></table:table-row></table:table></office:spreadsheet>"
)
SLIDES = (
    '<office:presentation><draw:page draw:name="page1"><draw:frame><draw:text-box><text:p>Boats'
    "</text:p></draw:text-box></draw:frame><presentation:notes><draw:frame><draw:text-box><text:p>"
    "Speak slowly.</text:p></draw:text-box></draw:frame></presentation:notes></draw:page>"
    '<draw:page draw:name="page2"><draw:frame><draw:text-box><text:p>They float.</text:p>'
    "</draw:text-box></draw:frame></draw:page></office:presentation>"
)
RTF = (
    rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0 Arial;}}{\info{\title The boat}{\author Ann}}"
    rb"{\*\generator x;}{\header Page 1}\pard\b Ships\b0\par It na\'efvely \u8220?floats\u8221?"
    rb"\~on. \u-10179?\u-8704?{\field{\*\fldinst HYPERLINK x}{\fldrslt here}}\par\{end\}}"
)


def compound(streams: dict[str, bytes]) -> bytes:
    """Return a compound file: each stream of 4096 bytes or more, in sectors of its own."""
    none, end = 0xFFFFFFFF, 0xFFFFFFFE
    names = ["Root Entry"]
    for path in streams:
        storage = path.rpartition("/")[0]
        names += [storage] if storage and storage not in names else []
        names.append(path)
    chunks, fat = [], [0xFFFFFFFD]
    starts = {}
    for path, data in streams.items():
        padded = data + bytes(-len(data) % 512)
        starts[path] = len(fat)
        count = len(padded) // 512
        fat += [*range(len(fat) + 1, len(fat) + count), end]
        chunks.append(padded)
    children: dict[str, list[int]] = {}
    for number, path in enumerate(names[1:], 1):
        parent = path.rpartition("/")[0] or "Root Entry"
        children.setdefault(parent, []).append(number)
    entries = b""
    for path in names:
        child = children.get(path, [none])[0]
        siblings = children.get(path.rpartition("/")[0] or "Root Entry", [])
        at = siblings.index(names.index(path)) if names.index(path) in siblings else len(siblings)
        right = siblings[at + 1] if at + 1 < len(siblings) else none
        kind = 5 if path == "Root Entry" else 2 if path in streams else 1
        name = path.rpartition("/")[2].encode("utf-16-le")
        size = len(streams.get(path, b""))
        entries += struct.pack(
            "<64sHBBIII16sIQQIQ", name, len(name) + 2, kind, 1, none, right, child,
            b"", 0, 0, 0, starts.get(path, end if kind == 5 else 0), size,
        )  # fmt: skip
    directory = len(fat)
    entries += bytes(-len(entries) % 512)
    fat += [*range(len(fat) + 1, len(fat) + len(entries) // 512), end]
    fat += [none] * (128 - len(fat))
    head = struct.pack(
        "<8s16sHHHHHHIIIIIIIIII", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", b"", 0x3E, 3, 0xFFFE, 9, 6,
        0, 0, 0, 1, directory, 0, 4096, end, 0, end, 0,
    )  # fmt: skip
    head += struct.pack("<109I", 0, *[none] * 108)
    return head + struct.pack("<128I", *fat) + b"".join(chunks) + entries


def outlook_message(attached: bytes = b"") -> bytes:
    """Return a message of Outlook, perhaps with an attachment."""
    sent = struct.pack("<IIQ", 0x00390040, 0, 133511562450000000)
    wide = {
        "0037": "Invoice",
        "1000": "See below.",
        "0C1A": "Ann",
        "5D01": "ann@example.org",
        "0E04": "Bob",
    }
    streams = {
        f"__substg1.0_{key}001F": text.ljust(2048).encode("utf-16-le") for key, text in wide.items()
    }
    streams["__properties_version1.0"] = (bytes(32) + sent).ljust(4096, b"\0")
    if not attached:
        return compound(streams)
    streams["__attach_version1.0_#00000000/__substg1.0_3707001F"] = "a.txt".ljust(2048).encode(
        "utf-16-le"
    )
    streams["__attach_version1.0_#00000000/__substg1.0_37010102"] = attached.ljust(4096)
    return compound(streams)

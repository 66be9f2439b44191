"""The smallest honest files of office formats, made part by part."""

import io
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

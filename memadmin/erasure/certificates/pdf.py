"""A certificate to print or file: the same facts as the signed text, with its digest on every page."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any
from xml.sax.saxutils import escape

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle, getSampleStyleSheet
from reportlab.lib.units import mm
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Spacer, Table, TableStyle

from memadmin.erasure.certificates.reading import Part, parts_of

MARGIN = 20 * mm - 6  # points: the frame of a page keeps 6 of its own
WIDTH = 170 * mm
_STYLES = getSampleStyleSheet()
_SMALL = ParagraphStyle("small", parent=_STYLES["BodyText"], fontSize=8, leading=10)
_HEAD = ParagraphStyle("head", parent=_SMALL, fontName="Helvetica-Bold")
_LINES = TableStyle(
    [
        ("LINEBELOW", (0, 0), (-1, -1), 0.25, colors.lightgrey),
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("TOPPADDING", (0, 0), (-1, -1), 1.5),
        ("BOTTOMPADDING", (0, 0), (-1, -1), 1.5),
    ]
)


def pdf_of(document: dict[str, Any], *, digest: str, key_id: str) -> bytes:
    """Return the PDF of a certificate's document."""
    target = io.BytesIO()
    title = f"Certificate of erasure {document['serial']}"
    edges = dict.fromkeys(("leftMargin", "rightMargin", "topMargin", "bottomMargin"), MARGIN)
    page = SimpleDocTemplate(target, pagesize=A4, title=title, author="memadmin", invariant=1, **edges)
    foot = f"SHA-256 {digest} · Ed25519 key {key_id}"

    def on_page(canvas: Canvas, _: Any) -> None:
        canvas.setFont("Helvetica", 7)
        canvas.drawString(20 * mm, 10 * mm, foot)
        canvas.drawRightString(190 * mm, 10 * mm, f"{canvas.getPageNumber()}")

    heading: list[Flowable] = [
        Paragraph("Certificate of erasure", _STYLES["Title"]),
        Paragraph(_text(_sentence(document["title"])), _STYLES["BodyText"]),
    ]
    page.build([*heading, *(flow for part in parts_of(document) for flow in _part(part))], onFirstPage=on_page, onLaterPages=on_page)
    return target.getvalue()


def _part(part: Part) -> Iterable[Flowable]:
    yield Spacer(1, 4 * mm)
    yield Paragraph(_text(part.title), _STYLES["Heading3"])
    for sentence in part.sentences:
        yield Paragraph(_text(sentence), _SMALL)
    if part.rows:
        head = [[Paragraph(_text(_titled(cell)), _HEAD) for cell in part.head]] if part.head else []
        rows = head + [[Paragraph(_text(_titled(cell) if not at else cell), _SMALL) for at, cell in enumerate(row)] for row in part.rows]
        table = Table(rows, repeatRows=1 if part.head else 0, hAlign="LEFT", colWidths=_widths(len(rows[0])))
        table.setStyle(_LINES)
        yield table


def _widths(columns: int) -> list[float]:
    first = (60 if columns <= 2 else 45) * mm
    return [first, *[(WIDTH - first) / (columns - 1)] * (columns - 1)] if columns > 1 else [WIDTH]


def _text(value: str) -> str:
    return escape(value)


def _titled(words: str) -> str:
    return f"{words[:1].upper()}{words[1:]}"


def _sentence(words: str) -> str:
    return f"{_titled(words)}."

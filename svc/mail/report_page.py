"""The HTML of an email report.

The chart consists of table cells, because mail clients remove scripts and SVG, and hide images. The colors of texts and
backgrounds are left to the mail client, so that dark mode works. The color of the bars is visible on light and on dark
backgrounds. Each element starts on its own line, because mail servers may reject long lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_BAR_PX = 80
_COLOR = "#2f9e86"
_LAYOUT = 'role="presentation" cellpadding="0" cellspacing="0" border="0"'
_LINE = "border-bottom: 1px solid #888888"
_SMALL = "font-size: 13px"


class Row(NamedTuple):
    """An entry of a list: its name, its count ("" in the list of notes), and a remark."""

    name: str
    value: str
    detail: str = ""


@dataclass(frozen=True)
class Bar:
    """A bar of the chart.

    `label`: the text below the bar, which may be "". `name`: the day as text. `part`: the height of the bar as a
    fraction of the highest bar.
    """

    label: str
    name: str
    value: str
    part: float


@dataclass(frozen=True)
class Section:
    """A list with its heading, and a sentence below it."""

    heading: str
    rows: Sequence[Row]
    text: str = ""


@dataclass(frozen=True)
class Content:
    """The texts of a report. `link`, `unsubscribe`: label and URL. All texts are plain text."""

    title: str
    span: str
    figures: Sequence[Row]
    chart: str
    bars: Sequence[Bar]
    sections: Sequence[Section]
    remarks: Sequence[str]
    link: tuple[str, str] | None
    why: str
    unsubscribe: tuple[str, str]


def report_page(content: Content) -> str:
    """Return the HTML of the report, without the surrounding page. All texts are escaped."""
    return "\n".join(['<div style="overflow-wrap: anywhere">', *_parts(content), "</div>"])


def _parts(content: Content) -> Iterable[str]:
    yield f'<h1 style="font-size: 22px; margin: 0">{escape(content.title)}</h1>'
    yield f'<p style="margin: 4px 0 16px">{escape(content.span)}</p>'
    yield from _table(content.figures)
    yield _heading(content.chart)
    yield from _chart(content.bars)
    for section in content.sections:
        yield _heading(section.heading)
        yield from _table(section.rows)
        if section.text:
            yield f"<p>{escape(section.text)}</p>"
    for remark in content.remarks:
        yield f"<p>{escape(remark)}</p>"
    if content.link is not None:
        yield f"<p>{_anchor(*content.link)}</p>"
    yield f'<p style="{_SMALL}">{escape(content.why)}'
    yield f"{_anchor(*content.unsubscribe)}</p>"


def _table(rows: Iterable[Row]) -> Iterable[str]:
    yield f'<table {_LAYOUT} width="100%">'
    for row in rows:
        yield "<tr>"
        yield f'<td style="padding: 4px 12px 4px 0; {_LINE}">{escape(row.name)}'
        if row.detail:
            yield f'<br><span style="{_SMALL}">{escape(row.detail)}</span>'
        yield "</td>"
        yield f'<td valign="top" align="right" nowrap style="padding: 4px 0; {_LINE}">{escape(row.value)}</td>'
        yield "</tr>"
    yield "</table>"


def _heading(text: str) -> str:
    return f'<h2 style="font-size: 17px; margin: 24px 0 8px">{escape(text)}</h2>'


def _anchor(label: str, url: str) -> str:
    return f'<a href="{escape(url)}">{escape(label)}</a>'


def _chart(bars: Sequence[Bar]) -> Iterable[str]:
    """Return a table with a column for each day. Short charts also show the counts."""
    label = ";\n".join(f"{one.name}: {one.value}" for one in bars)
    width = f"{100 / len(bars):.2f}%"
    shows_values = all(one.label for one in bars)
    yield f'<table role="img" aria-label="{escape(label)}" cellpadding="0" cellspacing="0" border="0" width="100%"'
    yield ' style="table-layout: fixed">'
    yield "<tr>"
    for one in bars:
        yield f'<td width="{width}" height="{_BAR_PX + 20}" valign="bottom" align="center" style="padding: 0 1px">'
        if shows_values:
            yield f'<span style="{_SMALL}">{escape(one.value)}</span>'
        height = round(_BAR_PX * one.part) or int(one.part > 0)
        if height:
            yield f'<table {_LAYOUT} width="100%"><tr>'
            yield f'<td height="{height}" bgcolor="{_COLOR}" style="font-size: 0; line-height: 0">&nbsp;</td>'
            yield "</tr></table>"
        yield "</td>"
    yield "</tr>"
    yield "<tr>"
    for one in bars:
        yield f'<td align="center" nowrap style="{_SMALL}; border-top: 1px solid #888888">'
        yield f"{escape(one.label) or '&nbsp;'}</td>"
    yield "</tr>"
    yield "</table>"

"""Reads exports of other products and of this service. The columns of a file show its format.

The formats come from the products' source code. docs/use/import-totals.md lists the versions. It also explains how the
products' counts differ from those of this service.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from svc.clock import day_text
from svc.imports.reader import NotReadable
from svc.imports.totals.counterscale import is_analytics_engine, read_counterscale
from svc.imports.totals.google_analytics import is_google_analytics, read_google_analytics
from svc.imports.totals.matomo import is_matomo, read_matomo
from svc.imports.totals.plausible import read_dashboard_export, read_site_export
from svc.imports.totals.reading import Reading, add_days
from svc.imports.totals.table import Wrong, read_count, read_day, read_day_of_moment, read_header
from svc.imports.totals.tally import Name
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from svc.imports.reader import Lines
    from svc.imports.totals.source import Source
    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Tally

_NAME = re.compile(r"[!-~]{1,253}")
_NOT_VIEWS = {"2", "5"}  # Umami's event types for custom events and performance measurements


def read_totals(source: Source, tally: Tally, website: str | None = None) -> Reading:
    """Add an export's totals to the tally, which collects daily totals.

    `website`: the id of the website to read, for an Umami export with several websites. Raises NotReadable if the
    format is unknown, the file is damaged, or its rows are not daily totals.
    """
    hits = source.find(begin="hit_stats", end=".jsonl")
    if hits is not None:
        return _goatcounter_json(source, hits, tally)
    name = _table_in(source)
    start = source.first_character(name)
    if start == "":
        raise NotReadable("the file is empty")
    if start in "{[":
        return _json(source.read_text(name), tally)
    with source.lines(name) as lines:
        if start == "#":
            return read_google_analytics(lines, tally)
        table = read_header(lines)
        known = set(table.names)
        versioned = re.fullmatch(r"([0-9]+)path", table.names[0]) if table.names else None
        if versioned is not None:
            return _goatcounter(table, versioned[1], tally)
        if known >= {"website_id", "session_id", "created_at"}:
            return _umami(table, tally, website)
        for columns, read in _KNOWN:
            if known >= columns:
                return read(table, tally)
        if is_matomo(table.names):
            return read_matomo(table, tally)
        if is_google_analytics(table.names):
            return read_google_analytics(lines, tally, table.names, table.delimiter)
    named = ", ".join(column[:40] for column in table.names[:20]) or "none"
    raise NotReadable(
        f"the columns of the first line are not those of a known product: {named}. See docs/use/import-totals.md."
    )


def _table_in(source: Source) -> str:
    """Return the name of the file with the daily totals.

    This is the file with a known name, or else the only file. Raises NotReadable if a ZIP archive has several files and
    none of them has a known name.
    """
    for begin, end in (
        ("daily_totals", ".csv"),
        ("imported_visitors", ".csv"),
        ("visitors", ".csv"),
        ("website_event", ".csv"),
    ):
        rows = source.find(begin=begin, end=end)
        if rows is not None:
            return rows
    if len(source.names) == 1:
        return source.names[0]
    if {"events.csv", "pages.csv"} <= {name.rpartition("/")[2] for name in source.names}:
        raise NotReadable(
            "Umami's export of a website has no daily totals; docs/use/import-totals.md explains how to get them"
        )
    raise NotReadable(
        "the ZIP archive has no known file with daily totals; docs/use/import-totals.md lists the known files"
    )


# ---- this service, and custom tables


def _own(table: Table, tally: Tally) -> Reading:
    columns = ("kind", "edge_account_id", "name", "target", "day", "views", "bots", "visitors", "final", "estimated")
    unfinished = 0
    for line, [kind, edge_account_id, name, target, day, views, bots, visitors, final, estimated] in table.rows(
        *columns
    ):
        try:
            if kind not in {"site", "link"}:
                raise Wrong("kind is neither `site` nor `link`")
            if not all(_NAME.fullmatch(each) for each in (name, target or "-", edge_account_id or "-")):
                raise Wrong("name, target or edge_account_id is not valid")
            # The export adds an apostrophe to some names, so that spreadsheets do not evaluate them as formulas. It can
            # be removed safely, because hosts and codes contain no apostrophes.
            of = Name(kind, name.removeprefix("'"), edge_account_id)
            counts = Counts(
                read_count("views", views), read_count("bots", bots, 0), read_count("visitors", visitors, 0)
            )
            tally.add_day(line, read_day(day), counts, of, target, is_estimate=estimated == "1")
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        unfinished += final == "0"
    notes = [f"days that were incomplete when they were exported: {unfinished}"] if unfinished else []
    return Reading("an export of this service", columns, tuple(notes))


def _plain_table(table: Table, tally: Tally) -> Reading:
    add_days(table, tally, "day", "views", "visitors", "bots")
    return Reading(
        "a custom table",
        tuple(column for column in ("day", "views", "visitors", "bots") if column in table.names),
        ("days are read as UTC days",),
    )


# ---- GoatCounter


def _goatcounter(table: Table, version: str, tally: Tally) -> Reading:
    """Read a GoatCounter table with one row per hit. Exports of format version 1 include hits by bots."""
    if version not in {"1", "2"}:
        raise NotReadable(f"version {version} of GoatCounter's export is not supported, only versions 1 and 2")
    for line, [at, session, bot, event] in table.rows("date", "session", "bot", "event"):
        try:
            day = read_day_of_moment(at)
            is_bot = read_count("Bot", bot, 0) > 0
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        if event.lower() in {"true", "1"} or not tally.is_day(line, day):
            continue
        if is_bot:
            tally.add_bot(day)
        else:
            tally.add_view(day, "" if session == "0" else session)
    tally.count_views()
    return Reading(
        f"GoatCounter's CSV export, version {version}",
        ("Date", "Session", "Bot", "Event"),
        (
            "a visitor is a session with a view on that UTC day; GoatCounter itself counts visits per page",
            "events are not imported, and newer versions of GoatCounter do not export hits of bots",
        ),
    )


def _goatcounter_json(source: Source, hits: str, tally: Tally) -> Reading:
    """Read a GoatCounter export in JSON, which has counts per hour and page."""
    events = set()
    paths = source.find(begin="paths", end=".jsonl")
    if paths is not None:
        with source.lines(paths) as lines:
            for _, path in _objects(lines):
                if path.get("event") not in {None, False}:
                    events.add(path.get("id"))
    with source.lines(hits) as lines:
        for line, hit in _objects(lines):
            try:
                day = read_day_of_moment(str(hit.get("hour", "")))
                count = read_count("count", str(hit.get("count", "")))
            except Wrong as wrong:
                tally.refused.add(line, str(wrong))
                continue
            if hit.get("path_id") not in events and tally.is_day(line, day):
                tally.add_views(day, count)
    tally.count_views()
    return Reading(
        "GoatCounter's JSON export",
        ("hour", "path_id", "count"),
        (
            "page visits are imported as views; several views of a page in a session count as one visit",
            "the export has no visitors, so their number is 0 on these days",
            "events are not imported",
        ),
    )


def _objects(lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the line number and the object of each line in a file with one JSON object per line. Raises NotReadable."""
    for line in lines:
        lines.next_row()
        if line.isspace():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise NotReadable(f"line {lines.line} is not a JSON object")
        if any(isinstance(item, dict | list) for item in value.values()):
            raise NotReadable(f"line {lines.line} contains nested JSON")
        yield lines.line, value


# ---- Umami


def _umami(table: Table, tally: Tally, website: str | None) -> Reading:
    """Read a table with one row per event: Umami Cloud's export, or the table `website_event` (`pageview` in v1)."""
    websites: set[str] = set()
    for line, [of_website, at, session, kind] in table.rows("website_id", "created_at", "session_id", "event_type"):
        if website is not None and of_website.lower() != website.lower():
            continue
        websites.add(of_website)
        if len(websites) > 1:
            named = " and ".join(sorted(each[:40] for each in websites))
            raise NotReadable(f"the file has events of several websites ({named}); select one with --website")
        try:
            day = read_day_of_moment(at)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        if kind not in _NOT_VIEWS and tally.is_day(line, day):
            tally.add_view(day, session)
    if website is not None and not websites:
        raise NotReadable(f"the file has no events of the website {website}")
    tally.count_views()
    return Reading("Umami's events", ("created_at", "session_id", "event_type"), (_UMAMI_VISITORS, _NO_BOTS))


def _json(text: str, tally: Tally) -> Reading:
    """Read a JSON response of Umami's API or of Workers Analytics Engine. Raises NotReadable for other JSON."""
    try:
        response = json.loads(text)
    except (ValueError, RecursionError):
        raise NotReadable("the file is not valid JSON; for GoatCounter's JSON export, use the ZIP archive") from None
    if isinstance(response, dict) and isinstance(response.get("pageviews"), list):
        return _umami_json(response, tally)
    if isinstance(response, dict) and is_analytics_engine(response):
        return read_counterscale(response, tally)
    raise NotReadable("the file is not a response of Umami's `/api/websites/…/pageviews` or of Analytics Engine")


def _umami_json(response: Mapping[str, Any], tally: Tally) -> Reading:
    """Read a response to `GET /api/websites/…/pageviews?unit=day`, which has data points for views and for sessions."""
    views, visitors = (_umami_points(response.get(name)) for name in ("pageviews", "sessions"))
    days = sorted({*views, *visitors})
    if days and all(day_text(day).endswith("-01") for day in days):
        raise NotReadable("all days are the first of a month, so these are probably months; request unit=day")
    for day in days:
        tally.add_day(0, day, Counts(views.get(day, 0), 0, visitors.get(day, 0)))
    zone = "days in the requested time zone are read as UTC days; request timezone=UTC"
    return Reading("a response of Umami's API", ("pageviews", "sessions"), (zone, _UMAMI_VISITORS, _NO_BOTS))


def _umami_points(points: object) -> dict[int, int]:
    """Return the count for each day. Raises NotReadable if a data point is not valid or does not cover a day."""
    counts: dict[int, int] = {}
    for point in points if isinstance(points, list) else []:
        try:
            at = str(point.get("x", point.get("t", "")))
            day = read_day(at[:10])
            if at[10:] not in {"", "T00:00:00Z", " 00:00:00", "T00:00:00.000Z"}:
                raise NotReadable(f"{at[:40]} is not a day; request unit=day")
            counts[day] = counts.get(day, 0) + read_count("y", str(point.get("y", "")))
        except (Wrong, AttributeError) as wrong:
            raise NotReadable(f"a point is not valid: {wrong}") from None
    return counts


_UMAMI_VISITORS = "a visitor is a session with a view on that day"
_NO_BOTS = "Umami does not store hits of bots"

_KNOWN: tuple[tuple[set[str], Callable[[Table, Tally], Reading]], ...] = (
    ({"kind", "edge_account_id", "name", "target", "day", "views"}, _own),
    ({"date", "visitors", "pageviews", "bounce_rate"}, read_dashboard_export),
    ({"date", "visitors", "pageviews"}, read_site_export),
    ({"day", "views"}, _plain_table),
)

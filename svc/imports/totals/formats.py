"""The formats of exports: which product wrote a file is known by its columns, and what it says goes into a tally.

docs/import.md names the versions of the products whose sources these formats were read in, and what they count
otherwise than this service does.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from svc.clock import day_text
from svc.imports.reader import NotReadable
from svc.imports.totals.table import Wrong, read_count, read_day, read_day_of_moment, read_header
from svc.imports.totals.tally import Name
from svc.model import Counts

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from svc.imports.reader import Lines
    from svc.imports.totals.source import Source
    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Tally

_NAME = re.compile(r"[!-~]{1,253}")
_NO_VIEWS = {"2", "5"}  # of Umami's kinds of events: ones of the page's own, and measurements of speed


@dataclass(frozen=True)
class Reading:
    """What a file was read as. `notes`: what its product counts otherwise, for who imports it."""

    product: str
    columns: tuple[str, ...]
    notes: tuple[str, ...] = ()


def read_totals(source: Source, tally: Tally, website: str | None = None) -> Reading:
    """Put what the export says into the tally. Raises NotReadable: no known format, damaged, or not only days.

    `website`: the id of the one website that is meant, of an export of Umami that has several.
    """
    hits = source.named(begin="hit_stats", end=".jsonl")
    if hits is not None:
        return _goatcounter_json(source, hits, tally)
    name = _table_in(source)
    start = source.first_character(name)
    if start == "":
        raise NotReadable("the file is empty")
    if start in "{[":
        return _umami_json(source.whole(name), tally)
    with source.lines(name) as lines:
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
    named = ", ".join(one[:40] for one in table.names[:20]) or "none"
    raise NotReadable(f"no product is known by the columns of its first line: {named}. docs/import.md tells which are.")


def _table_in(source: Source) -> str:
    """The file of a ZIP that has the days; the only part of another file."""
    for begin, end in (
        ("daily_totals", ".csv"),
        ("imported_visitors", ".csv"),
        ("visitors", ".csv"),
        ("website_event", ".csv"),
    ):
        found = source.named(begin=begin, end=end)
        if found is not None:
            return found
    if len(source.names) == 1:
        return source.names[0]
    if {"events.csv", "pages.csv"} <= {name.rpartition("/")[2] for name in source.names}:
        raise NotReadable("Umami's export of a website has no days; docs/import.md tells how to get them")
    raise NotReadable("the ZIP holds no file with days that is known; docs/import.md tells which are")


# ---- this service, and tables of one's own


def _own(table: Table, tally: Tally) -> Reading:
    columns = ("kind", "edge_account_id", "name", "target", "day", "views", "bots", "visitors", "final")
    unfinished = 0
    for line, [kind, edge_account_id, name, target, day, views, bots, visitors, final] in table.rows(*columns):
        try:
            if kind not in {"site", "link"}:
                raise Wrong("kind is neither `site` nor `link`")
            if not all(_NAME.fullmatch(one) for one in (name, target or "-", edge_account_id or "-")):
                raise Wrong("name, target or edge_account_id is none")
            # An apostrophe is how a table keeps a spreadsheet from computing what begins so; no name has one.
            of = Name(kind, name.removeprefix("'"), edge_account_id)
            counts = Counts(
                read_count("views", views), read_count("bots", bots, 0), read_count("visitors", visitors, 0)
            )
            tally.add_day(line, read_day(day), counts, of, target)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        unfinished += final == "0"
    notes = [f"{unfinished} days were not sent to their end when they were exported"] if unfinished else []
    return Reading("an export of this service", columns, tuple(notes))


def _plain_table(table: Table, tally: Tally) -> Reading:
    _add_days(table, tally, "day", "views", "visitors", "bots")
    return Reading(
        "a table of one's own",
        tuple(column for column in ("day", "views", "visitors", "bots") if column in table.names),
        ("days are taken as days of UTC",),
    )


def _add_days(table: Table, tally: Tally, day: str, views: str, visitors: str, bots: str = "") -> list[tuple[int, int]]:
    """Add a table that has a row a day; returns the line and the day of each."""
    found = []
    for line, [of_day, of_views, of_visitors, of_bots] in table.rows(day, views, visitors, bots):
        try:
            counts = Counts(
                read_count(views, of_views), read_count(bots, of_bots, 0), read_count(visitors, of_visitors, 0)
            )
            number = read_day(of_day)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        found.append((line, number))
        tally.add_day(line, number, counts)
    return found


# ---- GoatCounter


def _goatcounter(table: Table, version: str, tally: Tally) -> Reading:
    """A row a hit; in version 1 also those of bots."""
    if version not in {"1", "2"}:
        raise NotReadable(f"version {version} of GoatCounter's export is not known; 1 and 2 are")
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
            "a visitor is a session that has a view on that UTC day; GoatCounter's own pages count visits of each page",
            "events are left out, and newer versions of GoatCounter export no hits of bots",
        ),
    )


def _goatcounter_json(source: Source, hits: str, tally: Tally) -> Reading:
    """Counts by hour and page."""
    events = set()
    paths = source.named(begin="paths", end=".jsonl")
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
            "it has visits of pages: several views of a page in a session are one. They are taken as views",
            "it has no visitors: their number is 0 on these days",
            "events are left out",
        ),
    )


def _objects(lines: Lines) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a file with one a line. Raises NotReadable."""
    for line in lines:
        lines.next_row()
        if line.isspace():
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise NotReadable(f"line {lines.line} is no JSON object")
        if any(isinstance(one, dict | list) for one in value.values()):
            raise NotReadable(f"line {lines.line} is no plain JSON object")
        yield lines.line, value


# ---- Plausible


def _plausible(table: Table, tally: Tally) -> Reading:
    _add_days(table, tally, "date", "pageviews", "visitors")
    return Reading("Plausible's export of a site", ("date", "pageviews", "visitors"), (_SITES_ZONE,))


def _plausible_dashboard(table: Table, tally: Tally) -> Reading:
    """What the dashboard shows: its rows are days, weeks or months, as the graph was set, without gaps."""
    found = _add_days(table, tally, "date", "pageviews", "visitors")
    days = [day for _, day in found]
    if len(days) < 2 or any(later - day != 1 for day, later in pairwise(days)):
        raise NotReadable(
            "the rows of Plausible's dashboard are no days in a row; they may be weeks or months. Choose a period of"
            " several days with the interval `Days`, or use the export in the site's settings"
        )
    notes = ("days without a view are in it, too", "a filter that was set narrows it")
    return Reading("an export of Plausible's dashboard", ("date", "pageviews", "visitors"), (_SITES_ZONE, *notes))


_SITES_ZONE = "its days are days of the site's time zone in Plausible; they are taken as days of UTC"

# ---- Umami


def _umami(table: Table, tally: Tally, website: str | None) -> Reading:
    """A row an event, as the cloud exports them and as the table `website_event` has them (version 1: `pageview`)."""
    websites: set[str] = set()
    for line, [of_website, at, session, kind] in table.rows("website_id", "created_at", "session_id", "event_type"):
        if website is not None and of_website.lower() != website.lower():
            continue
        websites.add(of_website)
        if len(websites) > 1:
            named = " and ".join(sorted(one[:40] for one in websites))
            raise NotReadable(f"it has events of several websites, {named} among them: name one by --website")
        try:
            day = read_day_of_moment(at)
        except Wrong as wrong:
            tally.refused.add(line, str(wrong))
            continue
        if kind not in _NO_VIEWS and tally.is_day(line, day):
            tally.add_view(day, session)
    if website is not None and not websites:
        raise NotReadable(f"it has no event of the website {website}")
    tally.count_views()
    return Reading("Umami's events", ("created_at", "session_id", "event_type"), (_UMAMI_VISITORS, _NO_BOTS))


def _umami_json(text: str, tally: Tally) -> Reading:
    """An answer of `GET /api/websites/…/pageviews?unit=day`: rows of views and of sessions."""
    try:
        answer = json.loads(text)
    except (ValueError, RecursionError):
        raise NotReadable("it is no JSON; GoatCounter's JSON export is taken as a whole ZIP") from None
    if not isinstance(answer, dict) or not isinstance(answer.get("pageviews"), list):
        raise NotReadable("it is no answer of Umami's `/api/websites/…/pageviews`")
    views, visitors = (_umami_points(answer.get(name)) for name in ("pageviews", "sessions"))
    days = sorted({*views, *visitors})
    if days and all(day_text(day).endswith("-01") for day in days):
        raise NotReadable("all its days are the first of a month, as they would be for months: ask with unit=day")
    for day in days:
        tally.add_day(0, day, Counts(views.get(day, 0), 0, visitors.get(day, 0)))
    zone = "its days are days of the time zone that was asked for, and are taken as days of UTC: ask with timezone=UTC"
    return Reading("an answer of Umami's API", ("pageviews", "sessions"), (zone, _UMAMI_VISITORS, _NO_BOTS))


def _umami_points(points: object) -> dict[int, int]:
    """The number of each day. Raises NotReadable: no points, or not of days."""
    found: dict[int, int] = {}
    for point in points if isinstance(points, list) else []:
        try:
            at = str(point.get("x", point.get("t", "")))
            day = read_day(at[:10])
            if at[10:] not in {"", "T00:00:00Z", " 00:00:00", "T00:00:00.000Z"}:
                raise NotReadable(f"{at[:40]} is no day: ask with unit=day")
            found[day] = found.get(day, 0) + read_count("y", str(point.get("y", "")))
        except (Wrong, AttributeError) as wrong:
            raise NotReadable(f"a point of it cannot be read: {wrong}") from None
    return found


_UMAMI_VISITORS = "a visitor is a session of Umami that has a view on that day"
_NO_BOTS = "Umami keeps no hits of bots"

_KNOWN: tuple[tuple[set[str], Callable[[Table, Tally], Reading]], ...] = (
    ({"kind", "edge_account_id", "name", "target", "day", "views"}, _own),
    ({"date", "visitors", "pageviews", "bounce_rate"}, _plausible_dashboard),
    ({"date", "visitors", "pageviews"}, _plausible),
    ({"day", "views"}, _plain_table),
)

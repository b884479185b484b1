"""Reads Plausible's exports: the daily totals, and the lists of pages, sources, countries, devices, browsers, systems.

The formats come from Plausible's source code (`lib/plausible/exports.ex`).
"""

from __future__ import annotations

import re
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from svc.imports.reader import NotReadable
from svc.imports.totals.reading import SITES_ZONE, Reading, add_days
from svc.imports.totals.table import Wrong, read_count, read_day, read_header

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from svc.imports.totals.month_lists import MonthLists
    from svc.imports.totals.source import Source
    from svc.imports.totals.table import Table
    from svc.imports.totals.tally import Refused, Tally
    from svc.model import Dimension

_SITES_ZONE = SITES_ZONE.format("Plausible")
# The Worker's limits (`PAGE_CHARS` in beacon.js, `SOURCE_CHARS` in sources.js), its pattern of email addresses
# (`AT_SIGN` in sources.js), and its key for views that follow another view on the same site.
_PAGE_CHARS = 200
_SOURCE_CHARS = 100
_AT_SIGN = re.compile("@|%(?:25)*40")
_INTERNAL = "(internal)"
# The columns of each kind of count, in order of preference. Older exports have no column `pageviews`, so their visits
# are used.
_VIEWS = ("pageviews", "visits", "visitors")
_ENTRANCES = ("entrances", "visits", "visitors")
_VISITS = ("visits", "visitors")
# The Worker's names for Plausible's values. All other names are the same in both products.
_DEVICES = {"Mobile": "mobile", "Tablet": "tablet", "Desktop": "desktop", "Laptop": "desktop", "Ultra-wide": "desktop"}
_BROWSERS = {"Microsoft Edge": "Edge", "Samsung Browser": "Samsung Internet", "Yandex Browser": "Yandex"}
_SYSTEMS = {"Mac": "macOS", "GNU/Linux": "Linux", "Chrome OS": "ChromeOS"}
_MISSING = {"", "(not set)", "(none)"}
_COUNTRY = re.compile(r"[A-Z]{2}")
_SCHEME = re.compile(r"(?:https?|android-app|ios-app)://", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


def read_site_export(table: Table, tally: Tally) -> Reading:
    """Read the daily totals of a site's export."""
    add_days(table, tally, "date", "pageviews", "visitors")
    return Reading("Plausible's export of a site", ("date", "pageviews", "visitors"), (_SITES_ZONE,))


def read_dashboard_export(table: Table, tally: Tally) -> Reading:
    """Read an export of Plausible's dashboard.

    Each row is a day, a week or a month, depending on the graph that the user selected. There are no gaps between rows.
    Raises NotReadable if the rows are not days.
    """
    read = add_days(table, tally, "date", "pageviews", "visitors")
    days = [day for _, day in read]
    if len(days) < 2 or any(later - day != 1 for day, later in pairwise(days)):
        raise NotReadable(
            "the rows of Plausible's dashboard are not consecutive days, but perhaps weeks or months. Choose a period"
            " of several days with the interval `Days`, or use the export in the settings of the site"
        )
    notes = ("days without views are included", "an active filter limits the export")
    return Reading("an export of Plausible's dashboard", ("date", "pageviews", "visitors"), (_SITES_ZONE, *notes))


def read_lists(source: Source, lists: MonthLists, refused: Refused) -> None:
    """Add up the lists of a site's export by month. Invalid lines are added to `refused`.

    Adds nothing if the file is not a site's export with lists. Raises NotReadable if a file is damaged or appears
    twice, and TooManyRows if the lists are too long.
    """
    if source.find(begin="imported_visitors", end=".csv") is None:
        return
    for begin, entries_of in _FILES.items():
        name = source.find(begin=begin, end=".csv")
        if name is None:
            continue
        with source.lines(name) as lines:
            table = read_header(lines)
            for line, fields in table.rows(*table.names):
                lists.count_row()
                row = dict(zip(table.names, fields, strict=True))
                try:
                    day = read_day(row.get("date", ""))
                    for dimension, key, n in entries_of(row):
                        lists.add(day, dimension, key, n)
                except Wrong as wrong:
                    refused.add(line, f"{begin}: {wrong}")


def _listed(
    dimension: Dimension, column: str, counts: tuple[str, ...], key_of: Callable[[str], str], row: Mapping[str, str]
) -> list[tuple[Dimension, str, int]]:
    """Return a list that contains the row's only entry.

    `column`: the column of the key. `counts`: the columns of the count, in order of preference.
    """
    return [(dimension, key_of(row.get(column, "")), _count(row, counts))]


def _visits(row: Mapping[str, str]) -> list[tuple[Dimension, str, int]]:
    """Return the source and the campaign of a row's visits.

    As in the Worker, only a visit's first view has the source. All other views count as internal.
    """
    visits = _count(row, _VISITS)
    views = read_count("pageviews", row["pageviews"]) if "pageviews" in row else visits
    entries: list[tuple[Dimension, str, int]] = [("sources", _source(row), visits)]
    if views > visits:
        entries.append(("sources", _INTERNAL, views - visits))
    campaign = _name(row.get("utm_campaign", ""))
    if campaign:
        entries.append(("campaigns", campaign, visits))
    return entries


def _count(row: Mapping[str, str], columns: tuple[str, ...]) -> int:
    for column in columns:
        if column in row:
            return read_count(column, row[column])
    raise Wrong(f"none of the columns {', '.join(columns)} exists")


def _page(text: str) -> str:
    page = _CONTROL.sub("", re.split(r"[?#]", text, maxsplit=1)[0])[:_PAGE_CHARS]
    if not page.startswith("/"):
        raise Wrong("the page does not begin with /")
    return page


def _country(text: str) -> str:
    return text if _COUNTRY.fullmatch(text) else "XX"


def _device(text: str) -> str:
    return _DEVICES.get(text, "other")


def _named(names: Mapping[str, str], text: str) -> str:
    return "Other" if text in _MISSING else _CONTROL.sub("", names.get(text, text))[:_SOURCE_CHARS]


def _source(row: Mapping[str, str]) -> str:
    """Return the source of a visit, "" if it was direct.

    As in the Worker, `utm_source` takes precedence over the referrer.
    """
    for column in ("utm_source", "referrer", "source"):
        name = _host(_name(row.get(column, "")))
        if name:
            return name
    return ""


def _host(name: str) -> str:
    """Reduce a URL, with or without a scheme, to its host. Leave other names unchanged."""
    return re.split(r"[/?#]", _SCHEME.sub("", name, count=1), maxsplit=1)[0].removeprefix("www.")


def _name(text: str) -> str:
    """Return the name of a source or campaign in the Worker's form. An email address becomes ""."""
    name = _CONTROL.sub("", text).strip().lower()[:_SOURCE_CHARS]
    return "" if _AT_SIGN.search(name) or name in _MISSING or name == "direct / none" else name


# For each file with a list, the function that returns the entries of a row.
_FILES: dict[str, Callable[[Mapping[str, str]], list[tuple[Dimension, str, int]]]] = {
    "imported_pages": partial(_listed, "pages", "page", _VIEWS, _page),
    "imported_entry_pages": partial(_listed, "entries", "entry_page", _ENTRANCES, _page),
    "imported_sources": _visits,
    "imported_locations": partial(_listed, "countries", "country", _VIEWS, _country),
    "imported_devices": partial(_listed, "devices", "device", _VIEWS, _device),
    "imported_browsers": partial(_listed, "browsers", "browser", _VIEWS, partial(_named, _BROWSERS)),
    "imported_operating_systems": partial(_listed, "os", "operating_system", _VIEWS, partial(_named, _SYSTEMS)),
}

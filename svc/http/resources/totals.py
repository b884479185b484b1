"""…/totals: all stored counts of a site or a link, as a stream of JSON or CSV."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.api import totals as api
from svc.api.endpoint import JSON_TYPE
from svc.clock import DAY_MS, HOUR_MS, day_text, iso
from svc.errors import Invalid, Issue
from svc.http.serving.responses import Streamed, accepted
from svc.http.serving.visible import readable_link, readable_site
from svc.store.total_pages import FIRST_DAY, LAST_DAY, PAGE, days_page, hours_page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.store.tx import Row, Store


class Totals:
    """The request handlers for the totals of sites and links."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._timing = deps.context.config.timing
        endpoints.read(api.SITE, self.site)
        endpoints.read(api.LINK, self.link)

    async def site(self, read: Read[api.TotalsQuery]) -> Streamed:
        """Return a site's totals."""
        site, _ = await readable_site(self._store, read.caller, read.id)
        return await self._respond(read, site.id, site.host)

    async def link(self, read: Read[api.TotalsQuery]) -> Streamed:
        """Return a link's totals."""
        link, _ = await readable_link(self._store, read.caller, read.id)
        return await self._respond(read, link.id, link.code)

    async def _respond(self, read: Read[api.TotalsQuery], target: str, name: str) -> Streamed:
        query = read.query
        series = _Series(self._store, target, *self._days(query), query.by)
        page = await series.page()  # before the response begins, so that an unavailable store causes an error
        headers = {"Vary": "Accept"}
        if accepted(read.request.accept, JSON_TYPE, api.CSV_TYPE) == JSON_TYPE:
            return Streamed(_json(series, page), JSON_TYPE, headers)
        headers["Content-Disposition"] = f'attachment; filename="{name}-by-{query.by}.csv"'
        return Streamed(_csv(series, page), f"{api.CSV_TYPE}; charset=utf-8; header=present", headers)

    def _days(self, query: api.TotalsQuery) -> tuple[int, int]:
        """Return the first and the last requested day.

        Raises Invalid if the hours of a day are no longer stored, or if `to` is before `from`.
        """
        earliest = FIRST_DAY
        if query.by == "hour":
            earliest = self._timing.hours_from(self._clock())
        first = earliest if query.from_ is None else query.from_
        last = LAST_DAY if query.to is None else query.to
        for name, day in (("from", first), ("to", last)):
            if day < earliest:
                message = f"must be {day_text(earliest)} or later: earlier hours are not kept"
                raise Invalid([Issue(name, message, "hours_not_stored" if query.by == "hour" else "other")])
        if last < first:
            raise Invalid([Issue("to", "must not be before from")])
        return first, last


@dataclass(frozen=True)
class _Series:
    """The stored counts of a site or link between two days, inclusive."""

    store: Store
    target: str
    first_day: int
    last_day: int
    by: Literal["day", "hour"]

    async def page(self, after: Row | None = None) -> Sequence[Row]:
        """Return the first page, or the page that follows `after`. Raises StoreUnavailable."""
        if self.by == "day":
            return await self.store.read(days_page([self.target], self.first_day, self.last_day, after))
        first, last = self.first_day * DAY_MS, self.last_day * DAY_MS + DAY_MS - HOUR_MS
        return await self.store.read(hours_page([self.target], first, last, after))


async def _json(series: _Series, page: Sequence[Row]) -> AsyncGenerator[bytes, None]:
    """Yield the response as JSON, one chunk per page."""
    unit_ms = DAY_MS if series.by == "day" else 1
    before = b'{"totals":['
    while True:
        last = page[-1] if len(page) == PAGE else None
        chunk = before + b",".join(_point(row, unit_ms) for row in page)
        page = ()  # free the page, which is ten times as large as the chunk, because a slow client may take minutes
        if last is None:
            yield chunk + b"]}"
            return
        yield chunk
        page = await series.page(last)
        before = b"," if page else b""


def _point(row: Row, unit_ms: int) -> bytes:
    return api.Total.model_construct(
        at=row["at"] * unit_ms,
        views=row["views"],
        bots=row["bots"],
        visitors=row["visitors"],
        imported=row.get("imported") == 1 or None,
        estimated=row.get("estimated") == 1 or None,
    ).to_bytes()


async def _csv(series: _Series, page: Sequence[Row]) -> AsyncGenerator[bytes, None]:
    """Yield the response as CSV (RFC 4180). Numbers and times need no quotes, and cannot be mistaken for formulas."""
    before = "day,views,bots,visitors,imported,estimated\r\n" if series.by == "day" else "at,views,bots,visitors\r\n"
    while True:
        last = page[-1] if len(page) == PAGE else None
        chunk = (before + "".join(_line(row, series.by) for row in page)).encode()
        page = ()  # free the page, as in `_json`
        yield chunk
        if last is None:
            return
        page = await series.page(last)
        before = ""


def _line(row: Row, by: Literal["day", "hour"]) -> str:
    counts = f"{row['views']},{row['bots']},{row['visitors']}"
    if by == "day":
        return f"{day_text(row['at'])},{counts},{row['imported']},{row['estimated']}\r\n"
    return f"{iso(row['at'])},{counts}\r\n"

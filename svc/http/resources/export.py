"""/v1/export: all of a user's data as one ZIP file, which is produced while it is sent."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar, get_args

import trio

from svc import model
from svc.api import export as api
from svc.api.events import Event
from svc.clock import DAY_MS, day_of, day_text, iso
from svc.errors import Forbidden, ServiceError
from svc.http.resources.archive import Archive
from svc.http.serving.responses import Streamed
from svc.limits import SlidingLimit
from svc.model import Scope
from svc.store import accounts, disconnects, exports, mailings
from svc.store.total_pages import FIRST_DAY, LAST_DAY, days_page, hours_page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from svc.api.shape import NoQuery, ResponseBody
    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account, FormerAccount, Link, Mailing, Note, Share, Site, User
    from svc.store.tx import Row, Store, Tx

T = TypeVar("T")

PER_HOUR = 10  # exports per user
_CHUNK_BYTES = 65_536
_ROWS = 2_000  # rows of totals per transaction, which take 20 ms in one of the store's reader threads
_GROUP = 20  # sites and links per statement; a small number, because PostgreSQL sorts all of their rows for each page
# An export with at least this number of sites and links is written in the ZIP64 format. The totals of this number of
# sites and links over a century may exceed 2 GB, which requires this format.
_LARGE_FROM = 150
_ALL_SCOPES: tuple[Scope, ...] = get_args(Scope)

_day_text = lru_cache(10_000)(day_text)
_iso = lru_cache(2_000)(iso)


class Export:
    """The handler of the export, and its rate limit."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._limit = SlidingLimit(PER_HOUR, window_s=3600)
        self._one_thread = trio.CapacityLimiter(1)  # all exports share one thread, so that they use at most one core
        endpoints.read(api.EXPORT, self.export)

    async def export(self, read: Read[NoQuery]) -> Streamed:
        """Return the ZIP file.

        Raises Forbidden (code scope_required) if the caller cannot see all of the user's data, or ServiceError (code
        rate_limited) if the user has requested too many exports.
        """
        _require_all(read.caller)
        user, now = read.caller.user, self._clock()
        if read.request.method != "HEAD":
            verdict = self._limit.count(str(user.id), now)
            if not verdict.allowed:
                text = f"A user can request {self._limit.quota} exports per hour; Retry-After gives the time to wait."
                raise ServiceError("rate_limited", text, retry_after_s=verdict.reset_s)
        own, targets = await self._store.read(
            _begin(user.id)
        )  # read before the response begins, so that an unavailable store causes an error response
        contents = _Contents(self._store, user, now, own, targets >= _LARGE_FROM)
        name = f"svc-export-{day_text(day_of(now))}.zip"
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Streamed(self._chunks(contents), api.ZIP_TYPE, headers)

    async def _chunks(self, contents: _Contents) -> AsyncGenerator[bytes, None]:
        archive = Archive(contents.now)
        made = bytearray()
        try:
            async with aclosing(contents.parts()) as parts:
                async for part in parts:
                    made += await trio.to_thread.run_sync(_add, archive, part, contents.large, limiter=self._one_thread)
                    if len(made) >= _CHUNK_BYTES:
                        yield bytes(made)
                        made.clear()
        finally:
            made += archive.end()
        yield bytes(made)


def _require_all(caller: Caller) -> None:
    """Raise Forbidden if the caller cannot see all of the user's data.

    Otherwise, an incomplete export would seem complete.
    """
    if not all(caller.has_any_scope(scope) for scope in _ALL_SCOPES):
        raise Forbidden("scope_required", details={"scopes": list(_ALL_SCOPES)})
    if caller.edge_accounts is not None:
        raise Forbidden("scope_required", "The key is limited to some accounts, but an export contains all of them.")


def _begin(user_id: int) -> Tx[tuple[list[Account | FormerAccount], int]]:
    """Return the user's accounts (disconnected accounts last), and the total number of their sites and links."""
    own = yield from accounts.list_accounts(user_id)
    former = yield from disconnects.list_former(user_id)
    return [*own, *former], (yield from exports.count_targets(user_id))


class _Part(NamedTuple):
    """Some lines of a file. `render` is called in a thread and returns these lines."""

    file: str
    render: Callable[[], str]


def _add(archive: Archive, part: _Part, large: bool) -> bytes:
    return archive.add(part.file, part.render().encode(), large=large)


@dataclass(frozen=True)
class _Contents:
    """The contents of the ZIP file: objects created up to `now`, and the totals that exist when each page is read."""

    store: Store
    user: User
    now: int
    accounts: Sequence[Account | FormerAccount]
    large: bool

    async def parts(self) -> AsyncGenerator[_Part, None]:
        """Yield all parts, file by file."""
        yield _Part("README.txt", lambda: api.README.format(email=self.user.email, exported_at=iso(self.now)))
        yield _Part("user.json", lambda: _json_text(api.User.from_model(self.user, self.now)) + "\n")
        yield _Part("accounts.json", lambda: _list_text([api.Account.from_model(each) for each in self.accounts]))
        edges = {account.id: account.edge_account_id for account in self.accounts}

        def site_of(site: Site) -> api.Site:
            return api.Site.from_model(site, edges[site.account_id])

        def link_of(link: Link) -> api.Link:
            return api.Link.from_model(link, edges[link.account_id])

        def note_of(note: Note) -> api.Note:
            return api.Note.from_model(note, edges[note.account_id])

        def share_of(share: Share) -> api.Share:
            return api.Share.from_model(share, edges[share.account_id])

        for files in (
            self._json("sites.json", self._sites(), site_of),
            self._json("links.json", self._links(), link_of),
            self._json("notes.json", self._notes(), note_of),
            self._json("shares.json", self._shares(), share_of),
            self._json("mailings.json", self._mailings(), api.Mailings.from_model),
            self._csv("sites.csv", api.Site, self._sites(), site_of),
            self._csv("links.csv", api.Link, self._links(), link_of),
            self._totals("daily_totals.csv", api.DAILY_COLUMNS, edges),
            self._totals("hourly_totals.csv", api.HOURLY_COLUMNS, edges),
            self._csv(
                "events.csv", Event, self._pages(partial(exports.events_page, self.user.id, self.now)), Event.from_model
            ),
        ):
            async with aclosing(files):
                async for part in files:
                    yield part

    def _sites(self) -> AsyncGenerator[list[Site], None]:
        return self._pages(partial(exports.sites_page, self.user.id, self.now))

    def _links(self) -> AsyncGenerator[list[Link], None]:
        return self._pages(partial(exports.links_page, self.user.id, self.now))

    def _notes(self) -> AsyncGenerator[list[Note], None]:
        return self._pages(partial(exports.notes_page, self.user.id, self.now))

    def _shares(self) -> AsyncGenerator[list[Share], None]:
        return self._pages(partial(exports.shares_page, self.user.id, self.now))

    def _mailings(self) -> AsyncGenerator[list[Mailing], None]:
        return self._pages(partial(mailings.mailings_page, self.user.id, self.now))

    async def _pages(self, page_after: Callable[[T | None], Tx[list[T]]]) -> AsyncGenerator[list[T], None]:
        after = None
        while page := await self.store.read(page_after(after)):
            yield page
            after = page[-1]

    async def _json(
        self, file: str, pages: AsyncGenerator[list[T], None], render: Callable[[T], ResponseBody]
    ) -> AsyncGenerator[_Part, None]:
        before = "[\n"
        async with aclosing(pages):
            async for page in pages:
                yield _Part(file, partial(_items_text, before, page, render))
                before = ",\n"
        yield _Part(file, lambda: "\n]\n" if before == ",\n" else "[]\n")

    async def _csv(
        self,
        file: str,
        columns: type[ResponseBody],
        pages: AsyncGenerator[list[T], None],
        render: Callable[[T], ResponseBody],
    ) -> AsyncGenerator[_Part, None]:
        yield _Part(file, lambda: api.csv_lines([columns.model_fields]))
        async with aclosing(pages):
            async for page in pages:
                yield _Part(file, partial(_rows_text, page, render))

    async def _totals(self, file: str, columns: Sequence[str], edges: Mapping[str, str]) -> AsyncGenerator[_Part, None]:
        """Yield the totals of all sites and links as CSV lines.

        `edges`: Cloudflare's ids of the accounts, by account id.
        """
        yield _Part(file, lambda: api.csv_lines([columns]))
        daily = columns is api.DAILY_COLUMNS
        read = days_page if daily else hours_page
        first, last = (FIRST_DAY, LAST_DAY) if daily else (FIRST_DAY * DAY_MS, LAST_DAY * DAY_MS)
        for pages in (self._sites(), self._links()):
            async with aclosing(pages):
                async for page in pages:
                    for begin in range(0, len(page), _GROUP):
                        heads = {each.id: _head(each, edges) for each in page[begin : begin + _GROUP]}
                        rows: list[Row] = []
                        while not rows or len(rows) == _ROWS:
                            after = rows[-1] if rows else None
                            rows = await self.store.read(read(list(heads), first, last, after, _ROWS))
                            if not rows:
                                break
                            yield _Part(file, partial(_daily_text if daily else _hourly_text, heads, rows))


def _head(target: Site | Link, edges: Mapping[str, str]) -> str:
    """Return the first cells of each line about a site or link. None of these cells needs quotation marks."""
    kind, name = ("link", target.code) if isinstance(target, model.Link) else ("site", target.host)
    return f"{target.id},{kind},{edges[target.account_id]},{name}"


def _daily_text(heads: Mapping[str, str], rows: Sequence[Row]) -> str:
    return "".join(
        f"{heads[row['target']]},{_day_text(row['at'])},{row['views']},{row['bots']},{row['visitors']},{row['final']},"
        f"{row['imported']},{row['estimated']}\r\n"
        for row in rows
    )


def _hourly_text(heads: Mapping[str, str], rows: Sequence[Row]) -> str:
    return "".join(
        f"{heads[row['target']]},{_iso(row['at'])},{row['views']},{row['bots']},{row['visitors']}\r\n" for row in rows
    )


def _json_text(item: ResponseBody) -> str:
    return item.to_bytes().decode()


def _items_text(before: str, page: Sequence[T], render: Callable[[T], ResponseBody]) -> str:
    return before + ",\n".join(_json_text(render(each)) for each in page)


def _list_text(objects: Sequence[ResponseBody]) -> str:
    return "[\n" + ",\n".join(map(_json_text, objects)) + "\n]\n" if objects else "[]\n"


def _rows_text(page: Sequence[T], render: Callable[[T], ResponseBody]) -> str:
    return api.csv_lines(api.cells_of(render(each)) for each in page)

"""…/qr.svg, …/qr.png, /v1/links/qr.zip and /v1/links/qr.html: QR codes of links.

All QR codes are drawn one after another in one thread, so that they use at most one core. A request for a single QR
code never waits until a ZIP file is complete.
"""

from __future__ import annotations

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import trio
from quart import Response

from svc.api import qr_codes as api
from svc.api.endpoint import HTML_TYPE
from svc.api.export import ZIP_TYPE
from svc.api.links import short_url
from svc.errors import Conflict, Invalid, Issue, NotFound, ServiceError
from svc.http.resources.archive import Archive
from svc.http.serving.responses import Streamed
from svc.http.serving.visible import visible_link
from svc.limits import SlidingLimit
from svc.model import DEFAULT_LANGUAGE
from svc.model.link_texts import folded
from svc.qr import sheet
from svc.qr.png import TooSmall, draw_png
from svc.qr.raster import NotDrawable, logo_raster
from svc.qr.style import MIN_CONTRAST, Style
from svc.qr.svg import draw_svg
from svc.store import accounts, link_lists
from svc.store.link_lists import LinkFilter
from svc.store.links import LINK_DELETED

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterable, Sequence

    from svc.http.serving.credentials import Caller
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import Read
    from svc.model import Account, Link
    from svc.store.tx import Tx

T = TypeVar("T")

PNGS_PER_MINUTE = 30  # per user
SETS_PER_HOUR = 20  # ZIP files and pages, per user
_CHUNK_BYTES = 65_536
# The headers of SVG images. An image contains the logo as a `data:` URL, which the policy of other responses blocks.
_SVG_HEADERS = {"Content-Security-Policy": "default-src 'none'; img-src data:; frame-ancestors 'none'"}


class QrCodes:
    """The handlers for QR codes, with their rate limits."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._store = deps.context.store
        self._clock = deps.context.clock
        self._logo = deps.identity.logo
        self._one_thread = trio.CapacityLimiter(1)
        self._pngs = SlidingLimit(PNGS_PER_MINUTE)
        self._sets = SlidingLimit(SETS_PER_HOUR, window_s=3600)
        endpoints.read(api.SVG, self.svg)
        endpoints.read(api.PNG, self.png)
        endpoints.read(api.ZIP, self.zip)
        endpoints.read(api.SHEET, self.sheet)

    async def svg(self, read: Read[api.SvgQuery]) -> Response:
        """Return the link's QR code as SVG. Raises the errors of `visible_link`, `_code_of` and `_style`."""
        code = _code_of(*await visible_link(self._store, read.caller, read.id))
        style = self._style(read.query)
        image = await self._draw(partial(draw_svg, code.text, style, read.query.size))
        return Response(image, headers=_SVG_HEADERS if style.logo else None, content_type=api.SVG_TYPE)

    async def png(self, read: Read[api.PngQuery]) -> Response:
        """Return the link's QR code as PNG.

        Raises the errors of `svg`, Invalid if the image is too small or its logo cannot be drawn, or ServiceError (code
        rate_limited) if the user requests too many images.
        """
        code = _code_of(*await visible_link(self._store, read.caller, read.id))
        style = self._style(read.query)
        self._count(self._pngs, read, f"{PNGS_PER_MINUTE} PNG images per minute")
        try:
            image = await self._draw(partial(draw_png, code.text, style, read.query.size))
        except TooSmall as error:
            least = error.min_size
            raise Invalid(
                [Issue("size", f"must be at least {least} for this QR code and margin", "too_small", least)]
            ) from None
        except NotDrawable as error:
            raise _without_logo(error) from None
        return Response(image, content_type=api.PNG_TYPE)

    async def zip(self, read: Read[api.ZipQuery]) -> Streamed:
        """Return the QR codes of the selected links as a ZIP file.

        Raises the errors of `sheet`, or Invalid if the logo cannot be drawn as PNG.
        """
        style, query = self._style(read.query), read.query
        codes = await self._selected(read.caller, query, api.MAX_IN_ZIP)
        if query.format == "png" and style.logo is not None:
            try:  # read the logo first, so that a failure causes an error response
                await self._draw(partial(logo_raster, style.logo))
            except NotDrawable as error:
                raise _without_logo(error) from None
        self._count_set(read)
        headers = {"Content-Disposition": 'attachment; filename="qr-codes.zip"'}
        return Streamed(_chunks(self._files(codes, style, query)), ZIP_TYPE, headers)

    async def sheet(self, read: Read[api.SheetQuery]) -> Streamed:
        """Return a page to print, with the QR codes of the selected links.

        Raises the errors of `_style` and `_selected`, or ServiceError (code rate_limited) if the user requests too many
        pages and ZIP files.
        """
        style, paper = self._style(read.query), read.query.paper
        codes = await self._selected(read.caller, read.query, api.MAX_ON_SHEET)
        self._count_set(read)
        headers = {
            "Content-Disposition": 'inline; filename="qr-codes.html"',
            "Content-Security-Policy": sheet.policy(paper),
        }
        start = sheet.page_start(paper, read.request.language or DEFAULT_LANGUAGE, style)
        return Streamed(_chunks(self._rows(start, codes, style)), f"{HTML_TYPE}; charset=utf-8", headers)

    def _style(self, query: api.StyleQuery) -> Style:
        """Return the requested style.

        Raises Invalid if a logo is requested but the service has none, or if scanners could not read the colors.
        """
        if query.logo and self._logo is None:
            raise Invalid([Issue("logo", "must be omitted, because this service has no logo", "not_offered")])
        light = None if query.light == "transparent" else query.light
        style = Style(query.dark, light, query.margin, self._logo if query.logo else None)
        if style.contrast < 0:
            text = "must be darker than the light color, because many scanners cannot read inverted QR codes"
            raise Invalid([Issue("dark", text, "low_contrast")])
        if style.contrast < MIN_CONTRAST:
            text = (
                f"must be darker, or the light color lighter: the difference in brightness is {style.contrast:.0%}, but"
                f" scanners need at least {MIN_CONTRAST:.0%}"
            )
            raise Invalid([Issue("dark", text, "low_contrast")])
        return style

    async def _draw(self, draw: Callable[[], T]) -> T:
        """Run `draw` in the drawing thread, and return its result."""
        return await trio.to_thread.run_sync(draw, limiter=self._one_thread)

    def _count_set(self, read: Read[api.ZipQuery] | Read[api.SheetQuery]) -> None:
        self._count(self._sets, read, f"{SETS_PER_HOUR} ZIP files and pages of QR codes per hour")

    def _count(
        self,
        limit: SlidingLimit,
        read: Read[api.PngQuery] | Read[api.ZipQuery] | Read[api.SheetQuery],
        most: str,
    ) -> None:
        """Count a request by the user. Raises ServiceError (code rate_limited) after too many requests."""
        verdict = limit.count(str(read.caller.user.id), self._clock())
        if not verdict.allowed:
            text = f"A user can request {most}; Retry-After gives the time to wait."
            raise ServiceError("rate_limited", text, retry_after_s=verdict.reset_s)

    async def _selected(self, caller: Caller, query: api.SelectionQuery, most: int) -> list[_Code]:
        """Return the QR codes of the selected links.

        Raises NotFound if no link matches, or if a link in `ids` does not exist. Raises Invalid if more than `most`
        links match, or if `ids` is combined with a filter. Also raises the errors of `_code_of`.
        """
        if query.ids is not None:
            others = sorted({"account_id", "q", "tag", "order"} & query.model_fields_set)
            if others:
                raise Invalid([Issue(name, "cannot be combined with ids", "not_combinable") for name in others])
        which = LinkFilter(
            caller.user.id,
            query.account_id,
            caller.edge_accounts,
            query.contains,
            title_contains=folded(query.q),
            tag=query.tag,
        )
        links, own = await self._store.read(_links(which, query, most + 1))
        if not links or (query.ids is not None and len(links) < len(query.ids)):
            raise NotFound
        if len(links) > most:
            text = f"more than {most} links match; select fewer with account_id, q, tag or ids"
            raise Invalid([Issue("", text, "too_many", most)])
        return [_code_of(link, own[link.account_id]) for link in links if link.account_id in own]

    async def _files(self, codes: Sequence[_Code], style: Style, query: api.ZipQuery) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the ZIP file, one for each image."""
        archive = Archive(self._clock())
        left = b""
        try:
            for code, name in zip(codes, file_names([each.code for each in codes], query.format), strict=True):
                yield await self._draw(partial(_add_image, archive, name, code.text, style, query))
        finally:
            left = archive.end()
        yield left

    async def _rows(self, start: str, codes: Sequence[_Code], style: Style) -> AsyncGenerator[bytes, None]:
        """Yield the parts of the page, one for each row."""
        yield start.encode()
        for first in range(0, len(codes), sheet.COLUMNS):
            row = codes[first : first + sheet.COLUMNS]
            labeled = [sheet.Labeled(each.text, each.name, each.short_url) for each in row]
            yield (await self._draw(partial(sheet.row_of, labeled, style))).encode()
        yield sheet.END.encode()


class _Code(NamedTuple):
    """The QR code of a link. `code`: the link's code. `name`: its title, or its code if it has no title."""

    code: str
    name: str
    short_url: str

    @property
    def text(self) -> str:
        """The text in the QR code."""
        return f"{self.short_url}?q"


def _code_of(link: Link, account: Account) -> _Code:
    """Return the link's QR code. Raises Conflict (code link_host_required), or NotFound if the link is deleted."""
    if link.state == "deleted":
        raise NotFound(LINK_DELETED)
    url = short_url(link, account)
    if url is None:
        raise Conflict("link_host_required")
    return _Code(link.code, link.title or link.code, url)


def _links(which: LinkFilter, query: api.SelectionQuery, limit: int) -> Tx[tuple[Sequence[Link], dict[str, Account]]]:
    """Return the selected links, at most `limit`, and the caller's accounts by id."""
    if query.ids is None:
        links = yield from link_lists.list_links(which, query.order, limit)
    else:
        links = yield from link_lists.listed(which, query.ids)
    own = yield from accounts.list_accounts(which.user_id, which.edge_accounts)
    return links, {account.id: account for account in own}


def file_names(codes: Iterable[str], suffix: str) -> list[str]:
    """Return a file name for each code. The names are unique on systems that ignore case.

    The prefix `qr-` avoids names that Windows reserves, such as `con.svg`, and names that begin with a hyphen.
    """
    taken: set[str] = set()
    names = []
    for code in codes:
        name, number = code, 1
        while name.lower() in taken:
            number += 1
            name = f"{code}-{number}"
        taken.add(name.lower())
        names.append(f"qr-{name}.{suffix}")
    return names


def _add_image(archive: Archive, name: str, text: str, style: Style, query: api.ZipQuery) -> bytes:
    """Draw a QR code and return the next bytes of the archive."""
    image = draw_png(text, style, query.size) if query.format == "png" else draw_svg(text, style).encode()
    return archive.add(name, image)


def _without_logo(error: NotDrawable) -> Invalid:
    text = f"must be omitted, because the operator's logo {error}"
    return Invalid([Issue("logo", text, "not_offered")])


async def _chunks(parts: AsyncGenerator[bytes, None]) -> AsyncGenerator[bytes, None]:
    """Yield the parts in chunks of at least 64 KiB."""
    made = bytearray()
    async with aclosing(parts):
        async for part in parts:
            made += part
            if len(made) >= _CHUNK_BYTES:
                yield bytes(made)
                made.clear()
    yield bytes(made)

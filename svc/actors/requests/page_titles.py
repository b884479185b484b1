"""Reads the title of a public web page, for users who ask the service to propose a title for a link."""

from __future__ import annotations

import html
import re
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

import trio

from svc.edge.visits import Answer
from svc.model.link_texts import MAX_TITLE_CHARS, normalize_title, one_line, shortened

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.edge.visits import Visitor

# The user agent of requests for titles. If the URL is a short link or a page that one of this service's Workers counts,
# that Worker counts the request as bot traffic.
USER_AGENT = "svc-title-bot/1.0"
_MAX_REDIRECTS = 5
# The number of bytes that are read from a page. Pages have their title near the start, but some large pages have 100 kB
# of styles before it.
_MAX_BYTES = 262_144
# The time limit for one title, including all redirects.
LONGEST_S = 10.0
_AT_ONCE = 8
_REDIRECTS = (301, 302, 303, 307, 308)
_HTML = ("text/html", "application/xhtml+xml")
# The text of a title element is cut to this length, because `html.unescape` raises ValueError for a character reference
# with more than 4,300 digits. The title of a link is much shorter.
_MAX_RAW_CHARS = 4_000
_ELEMENTS = ("script", "style", "noscript", "svg", "title")
_NEXT = re.compile(rf"<(!--|(?:{'|'.join(_ELEMENTS)})(?=[\s/>]))", re.IGNORECASE)
_ENDS = {
    "!--": re.compile("-->"),
    **{name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _ELEMENTS},
}
_CHARSET = re.compile(r"charset\s*=\s*[\"']?([\w-]+)", re.IGNORECASE)
# Encodings of web pages. Python supports more encodings, some of which are slow or not used for pages.
_ENCODINGS = re.compile(
    r"utf-?8|utf-?16(le|be)?|us-ascii|latin1|iso-8859-\d+|windows-\d+|koi8-[ru]|shift_jis|euc-(jp|kr)|iso-2022-jp|gbk|gb2312|gb18030|big5",
    re.IGNORECASE,
)


class PageTitles:
    """Reads the titles of web pages, at most `_AT_ONCE` at the same time."""

    def __init__(self, visitor: Visitor, parse_url: Callable[[str], str]) -> None:
        """`parse_url`: returns an https URL in ASCII, or raises ValueError."""
        # Use separate threads to resolve the hosts of these pages. Users choose the hosts, and a name server that never
        # responds would otherwise block the service's other lookups.
        threads = trio.CapacityLimiter(_AT_ONCE)
        self._visitor = replace(visitor, user_agent=USER_AGENT, body_bytes=_MAX_BYTES, threads=threads)
        self._parse_url = parse_url
        self._slots = trio.CapacityLimiter(_AT_ONCE)

    async def read(self, url: str) -> str | None:
        """Return the title of the page at an https URL; None if the page cannot be read or has no title.

        The result does not give the reason, because users could otherwise explore the service's network.
        """
        with trio.move_on_after(LONGEST_S):
            async with self._slots:
                return await self._read(url)
        return None

    async def _read(self, url: str) -> str | None:
        for _ in range(_MAX_REDIRECTS + 1):
            parts = urlsplit(url)
            if parts.hostname is None or parts.port not in (None, 443):
                return None
            path = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
            answer = await self._visitor.get(parts.hostname, path)
            if not isinstance(answer, Answer):
                return None
            if answer.status not in _REDIRECTS:
                return title_of(answer)
            try:
                url = self._parse_url(urljoin(url, answer.location))
            except ValueError:
                return None
        return None


def title_of(answer: Answer) -> str | None:
    """Return a page's title, shortened for use as a link's title. Return None if the response has no title."""
    if answer.status != 200 or answer.is_challenge or not answer.content_type.lower().startswith(_HTML):  # OK
        return None
    text = find_title(_decoded(answer.body, answer.content_type))
    if text is None:
        return None
    return normalize_title(shortened(one_line(html.unescape(text[:_MAX_RAW_CHARS])), MAX_TITLE_CHARS))


def find_title(page: str) -> str | None:
    """Return the text of the first title element outside comments, scripts, styles and drawings. Takes linear time."""
    at = 0
    while found := _NEXT.search(page, at):
        name = found[1].lower()
        end = _ENDS[name].search(page, found.end())
        if end is None:
            return None
        if name == "title":
            begin = page.find(">", found.end(), end.start())
            return None if begin < 0 else page[begin + 1 : end.start()]
        at = end.end()
    return None


def _decoded(body: bytes, content_type: str) -> str:
    """Decode a page. Its Content-Type header or its first 1,024 bytes name the encoding; the default is UTF-8."""
    start = body[:1_024].decode("latin-1")
    header, element = _CHARSET.search(content_type), _CHARSET.search(start)
    named = header or element
    encoding = "utf-8" if named is None else named[1]
    if body.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    elif not _ENCODINGS.fullmatch(encoding) or body.startswith(b"\xef\xbb\xbf"):
        encoding = "utf-8-sig"
    elif header is None and encoding.lower().startswith("utf-16"):
        encoding = "utf-8-sig"  # the page is not UTF-16, because its charset could be read as ASCII
    elif encoding.lower() in ("iso-8859-1", "latin1", "us-ascii"):
        encoding = "windows-1252"  # https://encoding.spec.whatwg.org/#names-and-labels
    try:
        return body.decode(encoding, "replace")
    except LookupError:  # such as windows-9999
        return body.decode("utf-8-sig", "replace")

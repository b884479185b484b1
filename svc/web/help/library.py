"""The pages of the documentation, their order, and the targets of their links."""

from __future__ import annotations

import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from svc.web.help.markdown import Document, HelpError, Target, parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

DOCS = "docs"
README = "README.md"
# The folders in docs/ that are served, in the order of the navigation. docs/README.md is the home page of the help.
FOLDERS = ("use", "operate")
_SCHEMES = ("https", "http", "mailto")


@dataclass(frozen=True, slots=True)
class Page:
    """A page of the documentation. `source`: its path in docs/. `url`: its path on the service."""

    source: str
    url: str
    text: str
    document: Document

    @property
    def folder(self) -> str:
        """The folder of docs/ that contains this page; "" for docs/README.md."""
        return posixpath.dirname(self.source)


class Library:
    """All pages, in the order of the navigation."""

    def __init__(self, root: Path) -> None:
        """Read the pages in a checkout.

        Raises HelpError if a page has a problem, or its folder's README does not list it.
        """
        self._root = root
        self.pages: Sequence[Page] = self._read_all()
        self._by_source: Mapping[str, Page] = {page.source: page for page in self.pages}

    def folder(self, name: str) -> list[Page]:
        """Return the pages in a folder of docs/, the README first."""
        return [page for page in self.pages if page.folder == name]

    def target(self, page: Page, href: str) -> Target:
        """Return the target of a link on the page. Raises HelpError if its file or anchor does not exist."""
        if urlsplit(href).scheme in _SCHEMES:
            return Target(href, href)
        url = urlsplit(unquote(href))
        if url.scheme or url.netloc or url.path.startswith("/"):
            raise HelpError(f"{DOCS}/{page.source}: {href} is neither a relative path nor a URL of the web")
        source = posixpath.normpath(posixpath.join(page.folder, url.path)) if url.path else page.source
        file = posixpath.normpath(posixpath.join(DOCS, source))
        destination = self._by_source.get(source)
        if destination is None:
            if file.startswith("..") or not (self._root / file).exists():
                raise HelpError(f"{DOCS}/{page.source}: {href} does not exist")
            return Target(None, None, file)
        if url.fragment and url.fragment not in destination.document.anchors:
            raise HelpError(f"{DOCS}/{page.source}: {href} is not an anchor of {file}")
        anchor = f"#{url.fragment}" if url.fragment else ""
        return Target(f"{destination.url}{anchor}", f"{destination.url}.md{anchor}", file)

    def _read_all(self) -> list[Page]:
        pages = [self._read(README)]
        for folder in FOLDERS:
            readme = self._read(f"{folder}/{README}")
            listed = dict.fromkeys(
                posixpath.normpath(f"{folder}/{urlsplit(link).path}") for link in readme.document.links
            )
            present = {
                path.relative_to(self._root / DOCS).as_posix() for path in (self._root / DOCS / folder).rglob("*.md")
            } - {readme.source}
            if missing := sorted(present - listed.keys()):
                raise HelpError(f"{DOCS}/{readme.source} does not list {', '.join(missing)}")
            pages += [readme, *(self._read(source) for source in listed if source in present)]
        return pages

    def _read(self, source: str) -> Page:
        text = (self._root / DOCS / source).read_text(encoding="utf-8")
        try:
            document = parse(text)
        except HelpError as error:
            raise HelpError(f"{DOCS}/{source} {error}") from None
        return Page(source, url_of(source), text, document)


def url_of(source: str) -> str:
    """Return the path of a page on the service: use/keys.md is /help/use/keys, and use/README.md is /help/use."""
    return posixpath.normpath(f"/help/{source.removesuffix(README).removesuffix('.md')}")

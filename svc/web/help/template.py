"""The HTML around a documentation page: header, search, navigation, table of contents.

Only the search needs JavaScript.
"""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from svc.identity.marks import BRAND, HELP_TITLE, ICON
from svc.web.help.library import FOLDERS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from svc.web.help.library import Library, Page
    from svc.web.help.markdown import Heading

# `svc/web/build.js` replaces this with the stylesheet and the script.
ASSETS = "<!-- assets -->"
_DEEPEST_IN_CONTENTS = 3
_FEWEST_IN_CONTENTS = 2


class Template:
    """Creates pages as HTML. `version`: the service's version. `index`: the URL of the search index."""

    def __init__(self, library: Library, version: str, index: str) -> None:
        self._library = library
        self._version = version
        self._index = index

    def page(self, page: Page, body: str) -> str:
        """Return a page. `body`: the HTML below its title."""
        document = page.document
        markdown = f"{page.url}.md"
        return self._whole(
            title=document.title,
            head=f'<meta name="description" content="{escape(document.summary)}">\n'
            f'<link rel="alternate" type="text/markdown" href="{markdown}">',
            body=f'{_contents(document.headings)}<div class="text">\n{body}</div>',
            more=f' · <a href="{markdown}">This page as Markdown</a>',
            current=page.url,
        )

    def missing(self) -> str:
        """Return the page for an unknown path below /help."""
        text = "<p>This version of the service has no such page. Choose one in the list of pages.</p>"
        body = f'<div class="text">\n{text}</div>'
        return self._whole(title="Page not found", head="", body=body, more="", current="")

    def _whole(self, *, title: str, head: str, body: str, more: str, current: str) -> str:
        name = escape(title, quote=False)
        return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>{name}{HELP_TITLE}
{head}
{ICON}>
{ASSETS}
</head>
<body>
<a class="skip" href="#help-content">Skip to content</a>
<header class="top"><div class="bar">
<a class="brand" href="/">{BRAND}
<nav class="places" aria-label="Main">
{_link("/help", "Help", current, "tab")}
<a class="tab to-pages" href="#help-pages">All pages</a>
<a class="tab" href="/reference">API docs</a>
</nav>
</div></header>
<div class="help">
<search class="find" data-index="{self._index}" hidden>
<form><label for="help-search">Search the documentation</label>
<input id="help-search" type="search" autocomplete="off" autocapitalize="none" spellcheck="false" maxlength="200">
</form>
<p role="status"></p>
<ol id="help-results"></ol>
</search>
<main id="help-content">
<h1>{name}</h1>
{body}
<footer class="small">Documentation of svc {escape(self._version)}{more}</footer>
</main>
<nav id="help-pages" class="pages" aria-label="Documentation">
{"".join(self._folder(folder, current) for folder in FOLDERS)}</nav>
</div>
</body>
</html>
"""

    def _folder(self, folder: str, current: str) -> str:
        readme, *pages = self._library.folder(folder)
        items = "".join(f"<li>{_link(each.url, each.document.title, current)}</li>\n" for each in pages)
        return f"<h2>{_link(readme.url, readme.document.title, current)}</h2>\n<ul>\n{items}</ul>\n"


def _link(url: str, text: str, current: str, kind: str = "") -> str:
    marked = ' aria-current="page"' if url == current else ""
    styled = f' class="{kind}"' if kind else ""
    return f'<a href="{url}"{styled}{marked}>{escape(text, quote=False)}</a>'


def _contents(headings: Iterable[Heading]) -> str:
    """Return the table of contents, or "" for a page with fewer than two headings."""
    entries = [each for each in headings if each.level <= _DEEPEST_IN_CONTENTS]
    if len(entries) < _FEWEST_IN_CONTENTS:
        return ""
    items = "".join(
        f'<li class="level-{each.level}"><a href="#{each.id}">{escape(each.title, quote=False)}</a></li>\n'
        for each in entries
    )
    return f'<nav class="contents" aria-label="On this page">\n<h2>On this page</h2>\n<ul>\n{items}</ul>\n</nav>\n'

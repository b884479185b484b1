"""Parses and renders one page of the documentation. This module does no I/O.

Raw HTML is an error, except comments and anchors (`<a id="name"></a>`). Pages therefore contain no scripts, and no
inline styles, which the Content-Security-Policy forbids.
"""

from __future__ import annotations

import re
from copy import deepcopy
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from markdown_it.utils import EnvType, OptionsDict

# Ids that the template uses. Headings cannot have these ids, so that each id is unique on its page.
RESERVED_IDS = frozenset({"help-content", "help-pages", "help-results"})

_COMMENTS = re.compile(r"\s*(?:<!--.*?-->\s*)+", re.DOTALL)
_ANCHOR = re.compile(r'<a id="([a-z0-9-]+)">')
# Matches links whose text has no brackets. If a page has other links, `rewrite` raises an error instead of ignoring
# them.
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s]+)\)")
_FIRST_SENTENCE = re.compile(r".*?[.!?](?=\s|$)")


class HelpError(ValueError):
    """Raised if the documentation cannot be built. The message names the page and the problem."""


class Heading(NamedTuple):
    """A heading below the title. `level`: 2 or more."""

    level: int
    id: str
    title: str


class Section(NamedTuple):
    """The text below a heading, for the search. `anchor` and `heading` are empty for the text below the title."""

    anchor: str
    heading: str
    text: str


class Target(NamedTuple):
    """The target of a link.

    `html`, `markdown`: its URL in each format; None if the file is not served. `file`: its path in the repository; ""
    for other URLs.
    """

    html: str | None
    markdown: str | None
    file: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed page.

    `summary`: the page's first sentence. `body`: the tokens below the title. `links`: the percent-encoded URLs of the
    page's links.
    """

    title: str
    summary: str
    body: Sequence[Token]
    headings: tuple[Heading, ...]
    anchors: frozenset[str]
    sections: tuple[Section, ...]
    links: tuple[str, ...]


class _Renderer(RendererHTML):
    """Renders code blocks so that they can be scrolled by keyboard, and code so that it can wrap at `_` and `/`.

    Omits comments.
    """

    def code_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        code = re.sub(r"(?<=[\w}][_/])(?=[\w{])", "<wbr>", escape(tokens[idx].content, quote=False))
        return f"<code>{code}</code>"

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return f'<pre tabindex="0"><code>{escape(tokens[idx].content, quote=False)}</code></pre>\n'

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return self.fence(tokens, idx, options, env)

    def html_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:  # noqa: ARG002
        return ""


_PARSER = MarkdownIt("commonmark", renderer_cls=_Renderer).enable("table")


def slug(heading: str) -> str:
    """Return the anchor that GitHub gives a heading (plain text)."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def parse(text: str) -> Document:
    """Parse a page. Raises HelpError for raw HTML, an image, a skipped level of headings, or a missing title."""
    tokens = _PARSER.parse(text)
    _check_html_blocks(tokens)
    named = [anchor for token in tokens for anchor in _clean(token)]
    tokens = [token for token in tokens if token.type != "html_block"]
    if [token.tag for token in tokens[:1]] != ["h1"]:
        raise HelpError("must start with a title (#)")
    headings = _number_headings(tokens)
    _label_cells(tokens)
    anchors = [heading.id for heading in headings] + named
    if len(set(anchors)) < len(anchors) or RESERVED_IDS & set(anchors):
        raise HelpError(f"has an anchor twice, or one of {sorted(RESERVED_IDS)}")
    body = tokens[3:]
    paragraph = next((plain(inline) for open_, inline, _ in _triples(body) if open_.type == "paragraph_open"), "")
    first = _FIRST_SENTENCE.match(paragraph)
    if first is None:
        raise HelpError("must have a sentence below its title")
    links = tuple(
        str(child.attrGet("href")) for token in tokens for child in token.children or () if child.type == "link_open"
    )
    return Document(
        title=plain(tokens[1]),
        summary=first[0],
        body=body,
        headings=tuple(headings),
        anchors=frozenset(anchors),
        sections=tuple(_sections(body, headings)),
        links=links,
    )


def render(document: Document, target: Callable[[str], Target]) -> str:
    """Return the HTML below the title. `target`: returns the target of a URL."""
    tokens = deepcopy(list(document.body))
    for token in tokens:
        if token.children:
            token.children = list(_linked(token.children, target))
    html: str = _PARSER.renderer.render(tokens, _PARSER.options, {})
    return html


def rewrite(text: str, target: Callable[[str], Target]) -> str:
    """Return a page's Markdown, with the links changed to the served URLs.

    Raises HelpError if a link could not be rewritten.
    """
    links = parse(text).links

    def served(match: re.Match[str]) -> str:
        href = _PARSER.normalizeLink(match[2])
        if href not in links:
            return match[0]
        to = target(href)
        return f"{match[1]} (`{to.file}`)" if to.markdown is None else f"[{match[1]}]({to.markdown})"

    rewritten = _LINK.sub(served, text)
    expected = [_PARSER.normalizeLink(to.markdown) for to in map(target, links) if to.markdown is not None]
    if list(parse(rewritten).links) != expected:
        raise HelpError("has a link that is not written as [text](target)")
    return rewritten


def plain(inline: Token) -> str:
    """Return the text of an inline token without markup."""
    kept = (child.content or " " for child in inline.children or () if child.type in _TEXT)
    return " ".join("".join(kept).split())


_TEXT = {"text", "code_inline", "softbreak", "hardbreak"}


def _check_html_blocks(tokens: Iterable[Token]) -> None:
    for token in tokens:
        if token.type == "html_block" and not _COMMENTS.fullmatch(token.content):
            raise HelpError(f"has raw HTML: {token.content.strip()[:60]}")


def _clean(token: Token) -> Iterator[str]:
    """Remove comments from an inline token, and yield its anchors. Raises HelpError for other HTML or an image."""
    children: list[Token] = []
    rest = iter(token.children or ())
    for child in rest:
        anchor = _ANCHOR.fullmatch(child.content)
        if child.type == "image":
            raise HelpError("has an image, and images are not served")
        if child.type != "html_inline":
            children.append(child)
        elif anchor and (end := next(rest, None)) and end.content == "</a>":
            yield anchor[1]
            children.append(Token("html_inline", "", 0, content=f'<span id="{anchor[1]}"></span>'))
        elif not _COMMENTS.fullmatch(child.content):
            raise HelpError(f"has raw HTML: {child.content}")
    if token.children is not None:
        token.children = children


def _triples(tokens: Sequence[Token]) -> Iterator[tuple[Token, Token, Token]]:
    """Yield each block with text: its opening, its inline and its closing token."""
    for at, token in enumerate(tokens):
        if token.type == "inline":
            yield tokens[at - 1], token, tokens[at + 1]


def _number_headings(tokens: Sequence[Token]) -> list[Heading]:
    """Give each heading below the title a unique id, and return these headings."""
    headings: list[Heading] = []
    level = 0
    used: dict[str, int] = {}
    for opening, inline, _ in _triples(tokens):
        if opening.type != "heading_open":
            continue
        deeper = int(opening.tag[1:])
        title = plain(inline)
        if deeper > level + 1 or (deeper == 1 and level):
            raise HelpError(f"the level of the heading “{title}” does not follow from the one before")
        level = deeper
        if deeper == 1:
            continue
        anchor = slug(title)
        used[anchor] = used.get(anchor, -1) + 1
        unique = f"{anchor}-{used[anchor]}" if used[anchor] else anchor
        opening.attrSet("id", unique)
        headings.append(Heading(deeper, unique, title))
    return headings


def _label_cells(tokens: Sequence[Token]) -> None:
    """Give each table cell its column's title, which narrow screens show, and a class instead of an inline style."""
    labels: list[str] = []
    column = 0
    for at, token in enumerate(tokens):
        if token.type in ("th_open", "td_open") and token.attrs.pop("style", "") == "text-align:right":
            token.attrSet("class", "number")
        if token.type == "table_open":
            labels = []
        elif token.type == "tr_open":
            column = 0
        elif token.type == "th_open":
            labels.append(plain(tokens[at + 1]))
            # A header cell without text names no column, so it becomes an ordinary cell.
            token.tag = tokens[at + 2].tag = "th" if labels[-1] else "td"
        elif token.type == "td_open":
            if labels[column]:
                token.attrSet("data-label", labels[column])
            column += 1


def _sections(body: Iterable[Token], headings: Iterable[Heading]) -> Iterator[Section]:
    anchor, heading = "", ""
    texts: list[str] = []
    rest = iter(headings)
    in_heading = False
    for token in body:
        if token.type == "heading_open":
            yield Section(anchor, heading, " ".join(texts))
            _, anchor, heading = next(rest)
            texts = []
        in_heading = token.type == "heading_open" or (in_heading and token.type == "inline")
        if token.type == "inline" and not in_heading:
            texts.append(plain(token))
        elif token.type in ("fence", "code_block"):
            texts.append(" ".join(token.content.split()))
    yield Section(anchor, heading, " ".join(texts))


def _linked(children: Iterable[Token], target: Callable[[str], Target]) -> Iterator[Token]:
    """Yield the tokens, with the links changed to the served URLs.

    If a file is not served, only the text of the link remains, followed by the file's path.
    """
    unserved = ""
    for child in children:
        if child.type == "link_open":
            to = target(str(child.attrGet("href")))
            unserved = to.file if to.html is None else ""
            if to.html is not None:
                child.attrSet("href", to.html)
                yield child
        elif child.type == "link_close" and unserved:
            yield Token("text", "", 0, content=" (")
            yield Token("code_inline", "code", 0, content=unserved)
            yield Token("text", "", 0, content=")")
            unserved = ""
        else:
            yield child

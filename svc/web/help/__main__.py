"""Writes the documentation as one JSON file: `python -m svc.web.help FILE`.

`pages` maps each URL path to the file below svc/web/dist/, its media type and its text. `missing` is the file of the
page for unknown paths. `assets` maps the URL path of the search index to its text.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tomllib
from functools import partial
from pathlib import Path
from typing import Any

from svc.web.help.library import FOLDERS, Library, Page
from svc.web.help.markdown import HelpError, Target, render, rewrite
from svc.web.help.template import Template

ROOT = Path(__file__).parents[3]
HTML = "text/html; charset=utf-8"
MARKDOWN = "text/markdown; charset=utf-8"
PLAIN = "text/plain; charset=utf-8"
_MISSING = "help/missing.html"


def build(root: Path, version: str, purpose: str) -> dict[str, Any]:
    """Return the content of the JSON file. `purpose`: a description of the service in one sentence.

    Raises HelpError with all broken links, or with the first other problem.
    """
    library = Library(root)
    _check_links(library)
    index = json.dumps(search_index(library), ensure_ascii=False, separators=(",", ":"))
    index_url = f"/assets/help-index-{hashlib.sha256(index.encode()).hexdigest()[:8].upper()}.json"
    template = Template(library, version, index_url)
    pages: dict[str, dict[str, str]] = {}
    for page in library.pages:
        target = partial(library.target, page)
        html = template.page(page, render(page.document, target))
        file = page.url[1:] + ("/index" if page.source.endswith("README.md") else "")
        pages[page.url] = {"file": f"{file}.html", "type": HTML, "text": html}
        pages[f"{page.url}.md"] = {"file": f"{file}.md", "type": MARKDOWN, "text": _markdown(page, target)}
    pages["/llms.txt"] = {"file": "llms.txt", "type": PLAIN, "text": llms_txt(library, version, purpose)}
    return {"pages": pages, "missing": {"file": _MISSING, "text": template.missing()}, "assets": {index_url: index}}


def _check_links(library: Library) -> None:
    problems = []
    for page in library.pages:
        for link in page.document.links:
            try:
                library.target(page, link)
            except HelpError as error:
                problems.append(str(error))
    if problems:
        raise HelpError("\n".join(problems))


def _markdown(page: Page, target: partial[Target]) -> str:
    try:
        return rewrite(page.text, target)
    except HelpError as error:
        raise HelpError(f"docs/{page.source} {error}") from None


def search_index(library: Library) -> dict[str, list[list[Any]]]:
    """Return the search index: `pages` as [URL path, title], `sections` as [index of the page, anchor,
    heading, text].
    """
    return {
        "pages": [[page.url, page.document.title] for page in library.pages],
        "sections": [
            [number, *section] for number, page in enumerate(library.pages) for section in page.document.sections
        ],
    }


def llms_txt(library: Library, version: str, purpose: str) -> str:
    """Return the list of all pages in the format of https://llmstxt.org."""
    lines = ["# svc", "", f"> {purpose} This is the documentation of version {version}.", ""]
    for folder in FOLDERS:
        readme, *pages = library.folder(folder)
        lines += [f"## {readme.document.title}", ""]
        lines += [f"- [{each.document.title}]({each.url}.md): {each.document.summary}" for each in (readme, *pages)]
        lines.append("")
    lines += [
        "## API reference",
        "",
        "- [API reference](/reference.md): Every request of the API with its fields, responses and errors.",
        "- [OpenAPI document](/openapi.json): The same as OpenAPI 3.1.0.",
        "",
    ]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    """Write the documentation file, or print the problems and exit with status 1."""
    [file] = arguments
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    try:
        built = build(ROOT, project["version"], project["description"])
    except HelpError as error:
        sys.exit(f"The documentation cannot be built.\n{error}")
    Path(file).write_text(json.dumps(built, ensure_ascii=False), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])

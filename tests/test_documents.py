"""Tests of the documentation: every relative link and anchor resolves, and pages are short."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from svc.api.openapi import VERSION
from svc.store.engines.migrate import migrations
from svc.worker.bundle import load_bundle

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
MAX_LINES = 150
# Exceptions to the limit: the lists of all rules and of all changes, the generated tables, and the plan, which is not
# documentation.
MAY_BE_LONGER = {
    *(DOCS / each for each in ("develop/conformance.md", "operate/metrics.md", "use/errors.md", "plan.md")),
    ROOT / "CHANGELOG.md",
}

_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]*`")
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
_ANCHOR = re.compile(r"<a id=\"([^\"]+)\">")


def slug(heading: str) -> str:
    """Return the anchor that GitHub creates for a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return the anchors of a page. If a heading occurs several times, GitHub also creates numbered anchors, which this
    function omits.
    """
    text = _FENCED.sub("", page.read_text())
    return frozenset([*map(slug, _HEADING.findall(text)), *_ANCHOR.findall(text)])


def links(page: Path) -> list[str]:
    """Return the targets of all links and images on a page."""
    return _LINK.findall(_CODE.sub("", _FENCED.sub("", page.read_text())))


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_relative_links_and_anchors_resolve(page: Path):
    for link in links(page):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert target.is_relative_to(ROOT), link
        if anchor:
            assert anchor in anchors(target), link


@pytest.mark.parametrize("page", [page for page in PAGES if page not in MAY_BE_LONGER], ids=name)
def test_page_is_short(page: Path):
    assert len(page.read_text().splitlines()) <= MAX_LINES


@pytest.mark.parametrize("folder", ["use", "operate", "develop", "develop/decisions"])
def test_every_page_is_listed_in_the_readme_of_its_folder(folder: str):
    listed = {link.partition("#")[0] for link in links(DOCS / folder / "README.md")}
    assert {page.name for page in (DOCS / folder).glob("*.md")} - {"README.md"} <= listed


def test_heading_with_code_and_punctuation_gets_the_anchor_of_github():
    assert slug("`svc init` writes: what was decided") == "svc-init-writes-what-was-decided"
    assert slug("Bitly, Short.io and Rebrandly") == "bitly-shortio-and-rebrandly"


def test_versioning_names_the_schemas_of_the_current_version():
    page = (DOCS / "develop/versioning.md").read_text()
    assert f"Version {VERSION} uses schema {migrations('sqlite')[-1].number}." in page
    assert f"(schema {load_bundle().schema} in version {VERSION})" in page

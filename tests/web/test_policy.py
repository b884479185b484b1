"""The policy of the pages, in a browser: what it forbids does not happen."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Error

from svc.http.serving.web import POLICY
from tests.web.places import ROOT, new_context

KB = 1_024


def test_text_cannot_become_markup(page, place):
    answer = page.goto(f"{place.url}/sign-in")
    # docs/web.md has it, too: tests/http/serving/test_web.py.
    assert answer.headers["content-security-policy"] == POLICY
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    with pytest.raises(Error, match="disallowed"):
        page.evaluate("trustedTypes.createPolicy('mine', {})")


def test_nothing_is_fetched_from_elsewhere_and_nothing_inline_counts(page, place):
    page.goto(f"{place.url}/sign-in")
    expected = []
    for does, broken in (
        ("Object.assign(document.createElement('img'), {src: 'http://127.0.0.2:9/x.png'})", "img-src"),
        ("fetch('http://127.0.0.2:9/').catch(() => {})", "connect-src"),
        (
            "document.head.append(Object.assign(document.createElement('style'), {textContent: 'a{}'}))",
            "style-src-elem",
        ),
    ):
        page.evaluate(
            "new Promise((seen) => {"
            f" addEventListener('securitypolicyviolation', seen, {{once: true}}); {does} }}).then(() => 1)"
        )
        expected.append(broken)
        assert page.evaluate("broken") == expected


def test_who_has_no_script_is_told_so(browser, place):
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{place.url}/confirm?token=x")
    assert "need JavaScript" in page.locator("body").inner_text()
    context.close()


def test_the_application_stays_small():
    """By the build's own figures, gzipped: until a report is shown, and all of it, in both languages."""
    manifest = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    shell = len((ROOT / "svc/web/dist/index.html").read_bytes())
    sizes = {path: file.get("gz", file["bytes"]) for path, file in manifest["files"].items()}
    first = {path: sizes[path] for path in manifest["first"]}
    assert sum(size for path, size in first.items() if path.endswith(".js")) <= 40 * KB
    assert sum(size for path, size in first.items() if path.endswith(".css")) <= 7 * KB
    assert sum(first.values()) + shell <= 50 * KB
    assert sum(sizes.values()) + shell <= 120 * KB


def test_what_comes_first_is_what_the_build_says(page, place):
    """Else the budget would measure something else: nothing more is loaded until a page is shown."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(place.url)))
    page.goto(place.url)
    page.get_by_role("heading", level=1).wait_for()
    manifest = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    assets = [path for path in asked if path.startswith("/assets/")]
    assert set(manifest["first"]) == set(assets[: len(manifest["first"])])

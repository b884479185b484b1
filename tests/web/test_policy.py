"""Tests of the Content-Security-Policy, and of the size of the pages."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import Error

from svc.http.serving.web import POLICY
from tests.web.browser import close, new_context
from tests.web.places import ROOT

KB = 1_024


def test_text_cannot_become_markup(page, place):
    response = page.goto(f"{place.url}/sign-in")
    # docs/operate/tls.md contains the same policy; tests/http/serving/test_web.py checks this.
    assert response.headers["content-security-policy"] == POLICY
    with pytest.raises(Error, match="TrustedHTML"):
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
    with pytest.raises(Error, match="disallowed"):
        page.evaluate("trustedTypes.createPolicy('mine', {})")


def test_other_origins_and_inline_styles_are_blocked(page, place):
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


def test_page_without_javascript_says_so(browser, place):
    context = new_context(browser, java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{place.url}/confirm?token=x")
    assert "needs JavaScript" in page.locator("body").inner_text()
    close(context)


def test_application_is_within_size_limits():
    """Check the gzipped sizes in the build's manifest: the total for the overview, and the total for all pages.

    The total for all pages was 146 KB before the link pages became a separate bundle. Two bundles compress less
    well than one, but the overview now needs less code.
    """
    manifest = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    shell = len((ROOT / "svc/web/dist/index.html").read_bytes())
    sizes = {
        path: file.get("gz", file["bytes"])
        for path, file in manifest["files"].items()
        if path not in (*manifest["help"]["files"], *manifest["components"], *manifest["share"]["all"])
    }
    first = {path: sizes[path] for path in manifest["first"]}
    assert sum(size for path, size in first.items() if path.endswith(".js")) <= 42 * KB
    assert sum(size for path, size in first.items() if path.endswith(".css")) <= 7 * KB
    assert sum(first.values()) + shell <= 50 * KB
    assert sum(sizes.values()) + shell <= 170 * KB


def test_page_of_a_share_is_within_size_limits():
    """The page of a share is a separate bundle. Viewers with a German browser also load the German texts.

    The texts are those of the whole web application, so they grow with each of its features.
    """
    manifest = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    sizes = {path: file.get("gz", file["bytes"]) for path, file in manifest["files"].items()}
    assert sum(sizes[path] for path in manifest["share"]["first"] if path.endswith(".js")) <= 34 * KB
    assert sum(sizes[path] for path in manifest["share"]["all"]) <= 62 * KB


def test_first_files_match_manifest(page, place):
    """The size limits are meaningful only if the overview loads exactly the files in the manifest."""
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(place.url)))
    page.goto(place.url)
    page.get_by_role("heading", level=1).wait_for()
    manifest = json.loads((ROOT / "svc/web/dist/manifest.json").read_text())
    assets = [path for path in asked if path.startswith("/assets/")]
    assert set(manifest["first"]) == set(assets[: len(manifest["first"])])

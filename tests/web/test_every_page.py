"""Checks that run on every page listed in svc/web/pages.json."""

from __future__ import annotations

import random

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from tests.web.browser import CALLED, THEMES, close, new_context, sign_in
from tests.web.places import pages, states
from tests.web.visit import LOCALES, Visit


@pytest.mark.rule("D3")
@pytest.mark.parametrize("locale", LOCALES if EVERYTHING else [random.Random(SEED).choice(LOCALES)])
@pytest.mark.parametrize("public", [True, False])
def test_every_page_has_no_problems(browser, furnished, public, locale, stray_calls):
    """Check for errors, requests to other hosts, unknown operations, axe violations and horizontal scrolling.

    Each page must have a title and a heading.
    """
    context = new_context(browser, locale=locale)
    if not public:
        sign_in(context, furnished)
    visit = Visit(context.new_page(), furnished.url)
    for page in pages():
        if page["public"] is public:
            visit.open(page["path"], furnished.at(page["path"]))
    for path in () if public else states():
        visit.open(path, furnished.at(path))
    close(context)
    assert visit.found == []
    assert stray_calls() == set()


@pytest.mark.rule("D3")
def test_unknown_operation_is_detected(page, place, stray_calls):
    with page.expect_response(f"{place.url}/v1/keys"):
        page.goto(f"{place.url}/keys")
        page.get_by_role("heading", level=1, name="API keys", exact=True).wait_for()
    assert {("POST", "/auth/refresh"), ("GET", "/v1/keys")} <= CALLED
    assert stray_calls() == set()
    page.evaluate("Promise.all([fetch('/pages/keys'), fetch('/v1/keys', {method: 'PUT'})])")
    assert stray_calls() == {"GET /pages/keys", "PUT /v1/keys"}
    CALLED.clear()


def test_unknown_page_is_reported_as_not_found(browser, furnished):
    context = new_context(browser)
    page = context.new_page()
    response = page.goto(f"{furnished.url}/nothing/at/all")
    assert response is not None
    assert response.status == 404
    page.get_by_role("heading", level=1, name="Page not found").wait_for()
    close(context)


@pytest.mark.parametrize("theme", THEMES)
def test_axe_check_detects_low_contrast(stranger, place, theme):
    """The check must detect this problem, which only axe can find, in both themes."""
    page = stranger.new_page()
    visit = Visit(page, place.url)
    page.goto(f"{place.url}/sign-in")
    visit.loaded()
    page.emulate_media(color_scheme=theme)
    page.evaluate("document.querySelector('h1').style.color = 'light-dark(#eee8dd, #222)'")
    visit.axe(theme)
    assert [found.partition(": axe, ")[2].split()[1] for found in visit.found] == ["color-contrast"]

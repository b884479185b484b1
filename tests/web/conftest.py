"""One browser and at most two services for all tests here; each test has a context, which is a browser of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.web.places import new_context, open_browser, open_furnished, open_place, sign_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser, BrowserContext, Page

    from tests.web.places import Place

# Long enough for a machine that does much else: what is waited for comes, or never will.
expect.set_options(timeout=20_000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with a user who has nothing yet."""
    with open_place(tmp_path_factory.mktemp("web") / "svc") as opened:
        yield opened


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service whose user has an account, a site and a link."""
    with open_furnished(tmp_path_factory.mktemp("furnished") / "svc") as opened:
        yield opened


@pytest.fixture
def stranger(browser: Browser) -> Iterator[BrowserContext]:
    """A browser in which nobody is signed in."""
    context = new_context(browser)
    yield context
    context.close()


@pytest.fixture
def context(stranger: BrowserContext, place: Place) -> BrowserContext:
    """A browser in which the user of `place` is signed in."""
    sign_in(stranger, place)
    return stranger


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()

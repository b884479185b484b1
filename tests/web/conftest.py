"""Fixtures: one browser and at most two services for all tests. Each test has its own browser context."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edge_worker.emulator.client import proxied_zone
from tests.secrecy import leaks_of
from tests.web.browser import CALLED, close, new_context, open_browser, outside_the_contract, sign_in, signed_in_tab
from tests.web.places import metrics_of, open_furnished, open_place
from tests.web.visit import Visit
from tests.web.world import LINK_OWNER, LinkHost, World, sign_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser, BrowserContext, Page

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place

# The timeout is long, because the machine may be busy with other tests.
expect.set_options(timeout=20_000)
_zones = (f"news{number}.example" for number in itertools.count())


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser, which is closed after the last test of this package.

    While the browser is open, its library runs an asyncio loop in this thread, so no other loop can start here.
    """
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with one user, who has no data."""
    yield from _searched(open_place(tmp_path_factory.mktemp("web") / "svc"))


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with one user, who has an account, a site and a link."""
    yield from _searched(open_furnished(tmp_path_factory.mktemp("furnished") / "svc"))


def _searched(opening: AbstractContextManager[Place]) -> Iterator[Place]:
    """Search the shared service for secrets at the end. A service of only one test is searched after this test."""
    with opening as place:
        yield place
        metrics = metrics_of(place)
    leaks = leaks_of(place.folder, metrics)
    assert not leaks, f"secrets in the clear: {sorted(leaks)}"


@pytest.fixture(autouse=True)
def stray_calls() -> Iterator[Callable[[], set[str]]]:
    """Check that pages call only operations in the OpenAPI document. Yield a function that returns all calls that are
    not in this document.
    """
    CALLED.clear()
    yield outside_the_contract
    assert outside_the_contract() == set()


@pytest.fixture
def stranger(browser: Browser) -> Iterator[BrowserContext]:
    """A browser context without a signed-in user."""
    context = new_context(browser)
    yield context
    close(context)


@pytest.fixture
def context(stranger: BrowserContext, place: Place) -> BrowserContext:
    """A browser context with the user of `place` signed in."""
    sign_in(stranger, place)
    return stranger


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()


@pytest.fixture
def tab(browser: Browser, furnished: Place) -> Iterator[Page]:
    """A tab in which the user of `furnished` is signed in."""
    with signed_in_tab(browser, furnished) as tab:
        yield tab


@pytest.fixture
def world(furnished: Place) -> Iterator[World]:
    """Access to the service and the platform without a browser. At the end, the platform's faults are reset."""
    opened = World(furnished)
    yield opened
    opened.platform(lambda emulator: emulator.clear_faults())
    opened.platform(lambda emulator: emulator.set_failure_settings(minting="all_zones", renamed_permission=""))


@pytest.fixture(scope="session")
def link_host(furnished: Place) -> LinkHost:
    """A separate user with an account and a link host, so that the lists in other tests stay short."""
    sign_up(furnished, LINK_OWNER)
    world = World(furnished, LINK_OWNER)
    zone = next(_zones)
    customer = world.platform(lambda emulator: emulator.create_account([proxied_zone(zone)]))
    return LinkHost(furnished, f"go.{zone}", world.with_link_host(customer, f"go.{zone}"))


@pytest.fixture
def visit(browser: Browser, link_host: LinkHost) -> Iterator[Visit]:
    """A tab in which the user of `link_host` is signed in."""
    with signed_in_tab(browser, link_host.place, LINK_OWNER) as tab:
        yield Visit(tab, link_host.place.url)


@pytest.fixture
def zone() -> str:
    """A zone name that no other test uses."""
    return next(_zones)


@pytest.fixture
def customer(world: World, zone: str) -> Iterator[Customer]:
    """An account at the platform that is not connected to the service.

    If a test connects the account, the fixture disconnects it at the end, because the number of a user's accounts is
    limited.
    """
    made: Customer = world.platform(lambda emulator: emulator.create_account([proxied_zone(zone)]))
    yield made
    world.disconnect(made)

"""One browser and at most two services for all tests here; each test has a context, which is a browser of its own."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from edge_worker.emulator.client import proxied_zone
from tests.secrecy import leaks_of
from tests.web.places import (
    CALLED,
    World,
    metrics_of,
    new_context,
    open_browser,
    open_furnished,
    open_place,
    outside_the_contract,
    sign_in,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    from playwright.sync_api import Browser, BrowserContext, Page

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place

# Long enough for a machine that does much else: what is waited for comes, or never will.
expect.set_options(timeout=20_000)
_zones = (f"news{number}.example" for number in itertools.count())


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser, which ends with the last test of this package.

    While it is open its library has an asyncio loop running in this thread, in which others cannot begin one.
    """
    with open_browser() as opened:
        yield opened


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service with a user who has nothing yet."""
    yield from _searched(open_place(tmp_path_factory.mktemp("web") / "svc"))


@pytest.fixture(scope="session")
def furnished(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A service whose user has an account, a site and a link."""
    yield from _searched(open_furnished(tmp_path_factory.mktemp("furnished") / "svc"))


def _searched(opening: AbstractContextManager[Place]) -> Iterator[Place]:
    """What tests share is searched for secrets when it has ended: that of a single test is searched after each."""
    with opening as place:
        yield place
        metrics = metrics_of(place)
    leaks = leaks_of(place.folder, metrics)
    assert not leaks, f"secrets in the clear: {sorted(leaks)}"


@pytest.fixture(autouse=True)
def stray_calls() -> Iterator[Callable[[], set[str]]]:
    """The pages are a thin client: what they call in any test is in the contract. Tells what is not."""
    CALLED.clear()
    yield outside_the_contract
    assert outside_the_contract() == set()


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


@pytest.fixture
def world(furnished: Place) -> Iterator[World]:
    """The service and the platform beside the pages; the platform is polite again at the end."""
    opened = World(furnished)
    yield opened
    opened.platform(lambda emulator: emulator.clear_faults())
    opened.platform(lambda emulator: emulator.set_rudeness(minting="all_zones", renamed_right=""))


@pytest.fixture
def zone() -> str:
    """A name that no other test has."""
    return next(_zones)


@pytest.fixture
def customer(world: World, zone: str) -> Customer:
    """An account at the platform that nobody has connected."""
    made: Customer = world.platform(lambda emulator: emulator.create_account([proxied_zone(zone)]))
    return made

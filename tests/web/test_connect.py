"""Each failure of a connect with its words: what a person reads and can do about it; what was typed stays."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from playwright.sync_api import expect

from tests.web.places import MOST_ACCOUNTS, PASSWORD, World, new_context, sign_in, sign_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Request, Route

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place

CLEO = "cleo@example.com"
UNKNOWN = "cfat_" + "0" * 48
NOT_ACCEPTED = ("Cloudflare does not accept the bootstrap token for this account.", "make a new bootstrap token")
LACKS = ("The bootstrap token lacks a right.", "with those that are marked")
CANNOT_GIVE = "Workers Scripts: Edit", "D1: Edit", "Zone: Read"
KEPT = "What you entered is still here. “Go on” sends the same request; nothing is done twice."

# How the platform is made to refuse, and which token is typed; the code, the words, the rights that are marked.
Arranged = tuple["Callable[[World, Customer], str]", str, tuple[str, ...], tuple[str, ...]]


def token(**wanted: Any) -> Callable[[World, Customer], str]:
    """Another token of the customer's account."""

    def made(world: World, customer: Customer) -> str:
        value: str = world.platform(lambda emulator: emulator.create_token(customer.account_id, **wanted))[1]
        return value

    return made


def rude(**rudeness: str) -> Callable[[World, Customer], str]:
    """The good token, at a platform that is rude in one way."""

    def made(world: World, customer: Customer) -> str:
        polite = {"minting": "all_zones", "renamed_right": ""}
        world.platform(lambda emulator: emulator.set_rudeness(**{**polite, **rudeness}))
        return customer.bootstrap_token

    return made


def of_another_account(world: World, _: Customer) -> str:
    other: Customer = world.platform(lambda emulator: emulator.create_account())
    return other.bootstrap_token


REFUSED: tuple[Arranged, ...] = (
    (lambda *_: UNKNOWN, "invalid_bootstrap", NOT_ACCEPTED, ()),
    (token(expires_in_s=-5), "invalid_bootstrap", ("The bootstrap token has expired", "Make a new one"), ()),
    (of_another_account, "invalid_bootstrap", NOT_ACCEPTED, ()),
    (token(rights=["Account Settings Read"]), "bootstrap_permission_error", LACKS, ("Account API Tokens: Edit",)),
    (token(rights=["Account API Tokens Write"]), "bootstrap_permission_error", LACKS, ("Account Settings: Read",)),
    (rude(minting="silent"), "bootstrap_permission_error", LACKS, CANNOT_GIVE),
    (rude(minting="surplus"), "token_rights_mismatch", ("other rights than asked", "tell the operator"), ()),
    (rude(renamed_right="D1 Write"), "permission_catalog", ("list of rights lacks one", "needs an update"), ()),
)
# Each at the making of the working token: what the platform does, and what is read beside KEPT.
AWAY: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("refuse", {"status": 503, "message": "Down for a moment"}, "The edge platform failed: Down for a moment"),
    ("html", {}, "The edge platform failed."),
    ("drop_before", {}, "The edge platform did not answer"),
    ("drop_after", {}, "The edge platform did not answer"),
    ("throttle", {"delay_s": 1}, "The edge platform throttles this token."),
)


class Wizard:
    """The form of a connect, with what it has sent: keys and statuses."""

    def __init__(self, context: BrowserContext, place: Place) -> None:
        self.page = context.new_page()
        self.sent: list[tuple[str, str]] = []
        self.page.on("request", self._note)
        self.page.goto(f"{place.url}/accounts/connect")
        self.account, self.token = self.page.get_by_label("Account id"), self.page.get_by_label("Bootstrap token")
        self.location = self.page.get_by_label("Where the database is made")
        self.alert = self.page.get_by_role("alert")

    def _note(self, request: Request) -> None:
        if request.method == "POST" and request.url.endswith("/v1/accounts"):
            self.sent.append((request.headers["idempotency-key"], request.post_data or ""))

    def fill(self, account_id: str, value: str, location: str = "weur") -> None:
        self.account.fill(account_id)
        self.location.select_option(location)
        self.token.fill(value)

    def send(self, button: str = "Connect") -> None:
        self.page.get_by_role("button", name=button, exact=True).click()

    def refused(self, code: str, *words: str) -> None:
        """It says so, and has all that was typed, which is nowhere else."""
        expect(self.alert).to_contain_text(code)
        for each in words:
            expect(self.alert).to_contain_text(each)
        typed = [self.account.input_value(), self.location.input_value(), self.token.input_value()]
        sent = self.sent[-1][1]
        assert all(f'"{each}"' in sent for each in typed), typed
        assert typed[2] not in self.page.evaluate("document.documentElement.outerHTML")
        expect(self.page.locator(":focus")).to_have_count(1)


@pytest.fixture(scope="session")
def cleo(furnished: Place) -> World:
    """Another user, with as many accounts as a user may have, all of them pending."""
    sign_up(furnished, CLEO)
    world = World(furnished, CLEO)
    for _ in range(MOST_ACCOUNTS):
        customer: Customer = world.platform(lambda emulator: emulator.create_account())
        world.platform(lambda emulator: emulator.fault("html", "*/tokens/permission_groups", times=None))
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        answer = httpx.post(
            f"{furnished.url}/v1/accounts", json=body, headers=world.headers, trust_env=False, timeout=30
        )
        assert answer.status_code == 503, answer.text
    world.platform(lambda emulator: emulator.clear_faults())
    return world


@pytest.fixture
def wizard(browser: Browser, furnished: Place) -> Iterator[Callable[[str], Wizard]]:
    """The form, open for a user."""
    contexts: list[BrowserContext] = []

    def opened(email: str) -> Wizard:
        contexts.append(new_context(browser))
        sign_in(contexts[-1], furnished, email)
        return Wizard(contexts[-1], furnished)

    yield opened
    for context in contexts:
        context.close()


def are_marked(page: Page, missing: tuple[str, ...]) -> None:
    """Wait until these rights are marked as missing in the list of the first step, or none if there are none."""
    marked = page.get_by_role("listitem").get_by_role("listitem").filter(has_text="was missing")
    for right in missing:
        expect(marked.filter(has_text=right)).to_have_count(1)
    if not missing:
        expect(marked).to_have_count(0)


def test_a_token_that_is_no_good_is_told_in_words_and_nothing_typed_is_lost(wizard, world, customer):
    form = wizard("you@example.com")
    form.fill("my account", UNKNOWN)
    form.send()
    form.alert.get_by_text("does not have the form that this field takes").wait_for()
    expect(form.account).to_be_focused()
    for arranged, code, words, missing in REFUSED:
        form.fill(customer.account_id, arranged(world, customer))
        with form.page.expect_response("**/v1/accounts"):
            form.send()
        form.refused(code, *words)
        valid = form.page.get_by_text("The bootstrap token is still valid.")
        expect(valid).to_have_count(0 if code == "invalid_bootstrap" else 1)
        are_marked(form.page, missing)
        assert world.account(customer) is None
    assert len({key for key, _ in form.sent}) == len(form.sent) == len(REFUSED) + 1  # another request each


def test_a_platform_that_is_away_keeps_the_form_and_the_same_request_goes_on(wizard, world, customer):
    form = wizard("you@example.com")
    tokens, button = f"/accounts/{customer.account_id}/tokens", "Connect"
    form.fill(customer.account_id, customer.bootstrap_token)
    for kind, more, words in AWAY:
        world.platform(
            lambda emulator, kind=kind, more=more: emulator.fault(kind, tokens, method="POST", times=None, **more)
        )
        with form.page.expect_response("**/v1/accounts"):
            form.send(button)
        form.refused("cloudflare_unavailable", words, KEPT)
        world.platform(lambda emulator: emulator.clear_faults())
        button = "Go on"
    # Throttled: the platform has said when to come back, and only then the button is one again.
    again = form.page.get_by_role("button", name="Go on", exact=True)
    expect(again).to_have_attribute("aria-disabled", "false")
    # An answer that takes long is waited for, and a second press sends nothing.
    held: list[Route] = []

    def hold(route: Route) -> None:
        if route.request.method == "POST":
            held.append(route)
        else:
            route.continue_()

    form.page.route("**/v1/accounts", hold)
    again.click()
    waiting = form.page.get_by_role("button", name="Asking Cloudflare…")
    expect(waiting).to_have_attribute("aria-disabled", "true")
    waiting.click(force=True)
    [route] = held
    route.continue_()
    form.page.get_by_role("heading", level=1, name="Customer").wait_for()
    assert len(set(form.sent)) == 1
    assert len(form.sent) == len(AWAY) + 1
    found = world.account(customer)
    assert found is not None
    assert found["location"] == "weur"
    form.page.get_by_text(re.compile("Ready$")).first.wait_for()
    world.call("DELETE", f"/v1/accounts/{found['id']}", {})


def test_who_may_not_connect_it_is_told_why_and_led_on(wizard, world, cleo, customer, stranger):
    place = world.place
    form = wizard("you@example.com")
    [taken, *_] = cleo.call("GET", "/v1/accounts")["accounts"]
    of_it = world.platform(lambda emulator: emulator.create_token(taken["edge_account_id"]))[1]
    form.fill(taken["edge_account_id"], of_it)
    form.send()
    form.refused("account_taken", "Another user has connected this edge account.", "Ask that user, or the operator")
    [own] = [each for each in world.call("GET", "/v1/accounts")["accounts"] if each["id"] == place.ids["accounts"]]
    form.fill(own["edge_account_id"], UNKNOWN)
    form.send()
    form.refused("already_connected", "You have connected this edge account already.")
    to_it = form.alert.get_by_role("link", name="To the account")
    expect(to_it).to_have_attribute("href", f"/accounts/{own['id']}")  # once the list has been read
    to_it.click()
    form.page.get_by_role("heading", level=1, name="Customer").wait_for()
    assert form.page.url == place.at("/accounts/:id")

    form = wizard(CLEO)
    form.fill(customer.account_id, customer.bootstrap_token)
    form.send()
    form.refused(
        "limit_reached", f"The limit of {MOST_ACCOUNTS} accounts is reached.", "Delete what is no longer needed"
    )
    expect(form.alert.get_by_role("link", name="Your limits")).to_have_attribute("href", "/profile")

    dan = "dan@example.com"
    assert stranger.request.post(f"{place.url}/auth/sign-up", data={"email": dan, "password": PASSWORD}).ok
    form = wizard(dan)
    form.fill(customer.account_id, customer.bootstrap_token)
    form.send()
    form.refused(
        "email_unconfirmed", "The e-mail address must be confirmed first.", "Open the link in the confirmation"
    )
    with form.page.expect_response("**/auth/confirm/resend") as asked:
        form.alert.get_by_role("button", name="Send again").click()
    assert asked.value.ok
    expect(form.alert.get_by_role("status")).not_to_be_empty()


def test_too_many_requests_are_counted_down_and_the_same_one_goes_on(wizard, customer):
    """No limit is met by a person here; what is in front of the service may have one."""
    form = wizard("you@example.com")
    form.page.clock.install()
    refusal = {"error": {"code": "rate_limited", "message": "Too many requests."}}
    form.page.route(
        "**/v1/accounts", lambda route: route.fulfill(status=429, json=refusal, headers={"Retry-After": "41"}), times=1
    )
    form.fill(customer.account_id, UNKNOWN)
    form.send()
    form.refused("rate_limited", "Too many tries.")
    form.page.clock.fast_forward(20_000)
    waiting = form.page.get_by_role("button", name="Again in")
    expect(waiting).to_have_text("Again in 21 seconds")
    waiting.click(force=True)
    form.page.clock.fast_forward(21_000)
    form.send()
    form.refused("invalid_bootstrap", *NOT_ACCEPTED)
    assert len(form.sent) == 2
    assert len(set(form.sent)) == 1

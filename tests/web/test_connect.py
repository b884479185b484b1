"""Tests of errors when connecting an account: their texts and remedies. The form keeps its input."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import httpx
import pytest
from playwright.sync_api import expect

from tests.web.browser import close, fetched, new_context, sign_in
from tests.web.places import MAX_ACCOUNTS, PASSWORD
from tests.web.world import World, sign_up

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, BrowserContext, Page, Request, Route

    from edge_worker.emulator.client import Customer
    from tests.web.places import Place

CLEO = "cleo@example.com"
UNKNOWN = "cfat_" + "0" * 48
NOT_ACCEPTED = ("Cloudflare rejected the bootstrap token for this account.", "create a new bootstrap token")
LACKS = ("The bootstrap token is missing a permission.", "permissions marked as missing")
CANNOT_GIVE = "Workers Scripts: Edit", "D1: Edit", "Zone: Read"
KEPT = "Your input is still here. “Continue” sends the same request again."

# A function that prepares the platform and returns the token to type, and the expected code, texts and permissions.
Arranged = tuple["Callable[[World, Customer], str]", str, tuple[str, ...], tuple[str, ...]]


def token(**wanted: Any) -> Callable[[World, Customer], str]:
    """Return a function that creates another token in the customer's account."""

    def made(world: World, customer: Customer) -> str:
        value: str = world.platform(lambda emulator: emulator.create_token(customer.account_id, **wanted))[1]
        return value

    return made


def rude(**settings: str) -> Callable[[World, Customer], str]:
    """Return a function that applies these failure settings to the platform and returns a valid token."""

    def made(world: World, customer: Customer) -> str:
        polite = {"minting": "all_zones", "renamed_permission": ""}
        world.platform(lambda emulator: emulator.set_failure_settings(**{**polite, **settings}))
        return customer.bootstrap_token

    return made


def of_another_account(world: World, _: Customer) -> str:
    other: Customer = world.platform(lambda emulator: emulator.create_account())
    return other.bootstrap_token


REFUSED: tuple[Arranged, ...] = (
    (lambda *_: UNKNOWN, "invalid_bootstrap", NOT_ACCEPTED, ()),
    (token(expires_in_s=-5), "invalid_bootstrap", ("The bootstrap token has expired", "Create a new one"), ()),
    (of_another_account, "invalid_bootstrap", NOT_ACCEPTED, ()),
    (token(rights=["Account Settings Read"]), "bootstrap_permission_error", LACKS, ("Account API Tokens: Edit",)),
    (token(rights=["Account API Tokens Write"]), "bootstrap_permission_error", LACKS, ("Account Settings: Read",)),
    (rude(minting="silent"), "bootstrap_permission_error", LACKS, CANNOT_GIVE),
    (rude(minting="surplus"), "token_rights_mismatch", ("permissions than requested", "contact the operator"), ()),
    (
        rude(renamed_permission="D1 Write"),
        "permission_catalog",
        ("does not contain a permission that the service needs", "needs an update"),
        (),
    ),
)
# Failures while the working token is created: the kind of fault, its settings, and the text that the form shows in
# addition to KEPT.
AWAY: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("refuse", {"status": 503, "message": "Down for a moment"}, "Cloudflare returned an error: Down for a moment"),
    ("html", {}, "Cloudflare returned an error."),
    ("drop_before", {}, "Cloudflare did not respond"),
    ("drop_after", {}, "Cloudflare did not respond"),
    ("throttle", {"delay_s": 1}, "Cloudflare is rate limiting this token."),
)


class Wizard:
    """The connect form. `sent`: the Idempotency-Key and the body of each request that the form has sent."""

    def __init__(self, context: BrowserContext, place: Place) -> None:
        self.page = context.new_page()
        self.sent: list[tuple[str, str]] = []
        self.page.on("request", self._note)
        self.page.goto(f"{place.url}/accounts/connect")
        self.account, self.token = self.page.get_by_label("Account ID"), self.page.get_by_label("Bootstrap token")
        self.location = self.page.get_by_label("Database location")
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

    def hold(self) -> Callable[[], Route]:
        """Hold the form's next request. Return a function that waits for this request."""
        held: list[Route] = []

        def hold(route: Route) -> None:
            if route.request.method == "POST":
                held.append(route)
            else:
                route.continue_()

        def wait() -> Route:
            while not held:
                self.page.wait_for_timeout(10)
            [route] = held
            return route

        self.page.route("**/v1/accounts", hold)
        return wait

    def refused(self, code: str, *words: str) -> None:
        """Check that the form shows the error and keeps its input. The token must not occur elsewhere on the page."""
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
    """Another user, who has reached the account limit. All of this user's accounts are pending."""
    sign_up(furnished, CLEO)
    world = World(furnished, CLEO)
    for _ in range(MAX_ACCOUNTS):
        customer: Customer = world.platform(lambda emulator: emulator.create_account())
        world.platform(lambda emulator: emulator.fault("html", "*/tokens/permission_groups", times=None))
        body = {"edge_account_id": customer.account_id, "bootstrap_token": customer.bootstrap_token}
        response = httpx.post(
            f"{furnished.url}/v1/accounts", json=body, headers=world.headers, trust_env=False, timeout=30
        )
        assert response.status_code == 503, response.text
    world.platform(lambda emulator: emulator.clear_faults())
    return world


@pytest.fixture
def wizard(browser: Browser, furnished: Place) -> Iterator[Callable[[str], Wizard]]:
    """Return a function that signs in a user and opens the connect form."""
    contexts: list[BrowserContext] = []

    def opened(email: str) -> Wizard:
        contexts.append(new_context(browser))
        sign_in(contexts[-1], furnished, email)
        return Wizard(contexts[-1], furnished)

    yield opened
    for context in contexts:
        close(context)


def are_marked(page: Page, missing: tuple[str, ...]) -> None:
    """Wait until these permissions are marked as missing in the list of the first step. `()`: none may be marked."""
    marked = page.get_by_role("listitem").get_by_role("listitem").filter(has_text="missing")
    for right in missing:
        expect(marked.filter(has_text=right)).to_have_count(1)
    if not missing:
        expect(marked).to_have_count(0)


def test_invalid_token_is_explained_and_input_is_kept(wizard, world, customer):
    form = wizard("you@example.com")
    form.fill("my account", UNKNOWN)
    form.send()
    form.alert.get_by_text("The format is not valid.").wait_for()
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
    # each attempt sent a new request with a new key
    assert len({key for key, _ in form.sent}) == len(form.sent) == len(REFUSED) + 1


def test_unavailable_platform_keeps_input_and_same_request_continues(wizard, world, customer):
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
        button = "Continue"
    # The last fault was a rate limit, so the button is disabled until the time that the platform has sent.
    again = form.page.get_by_role("button", name="Continue", exact=True)
    expect(again).to_have_attribute("aria-disabled", "false")
    # While a request is pending, another press of the button must send nothing.
    held = form.hold()
    again.click()
    waiting = form.page.get_by_role("button", name="Checking with Cloudflare…")
    expect(waiting).to_have_attribute("aria-disabled", "true")
    waiting.click(force=True)
    held().continue_()
    form.page.get_by_role("heading", level=1, name="Customer").wait_for()
    assert len(set(form.sent)) == 1
    assert len(form.sent) == len(AWAY) + 1
    found = world.account(customer)
    assert found is not None
    assert found["location"] == "weur"
    form.page.get_by_text(re.compile("Ready$")).first.wait_for()
    world.call("DELETE", f"/v1/accounts/{found['id']}", {})


def test_late_response_leaves_the_next_page_open(wizard, world, customer):
    """The user leaves the form while the service connects the account, and types into another form."""
    form = wizard("you@example.com")
    page = form.page
    form.fill(customer.account_id, customer.bootstrap_token)
    held = form.hold()
    form.send()
    route = held()
    page.get_by_role("link", name="Sites", exact=True).click()
    page.get_by_role("button", name="Leave").click()
    page.get_by_role("link", name="Add site").click()
    host = page.get_by_label("Host")
    host.fill("www.shop.example")
    is_list_of_accounts = re.compile("/v1/accounts$")
    with page.expect_response(
        lambda response: response.request.method == "GET" and is_list_of_accounts.search(response.url)
    ):
        route.continue_()
    expect(host).to_have_value("www.shop.example")
    expect(page).to_have_url(f"{world.place.url}/sites/new")


def test_slow_connect_says_what_it_is_waiting_for(wizard, world, customer):
    form = wizard("you@example.com")
    form.account.wait_for()  # wait for the page to load, because a page that is still loading depends on timers
    form.page.clock.install()
    form.page.clock.pause_at(datetime.now(tz=UTC) + timedelta(minutes=1))
    form.fill(customer.account_id, customer.bootstrap_token)
    form.page.get_by_label("Name").fill("  Läden & Co ")
    # The request waits here, as if Cloudflare did not accept the bootstrap token yet. The creation of the working token
    # waits until the service repeats a call to which Cloudflare does not respond.
    groups = f"/accounts/{customer.account_id}/tokens/permission_groups"
    world.platform(lambda emulator: emulator.fault("slow", groups, times=None, delay_s=60))
    held = form.hold()
    form.send()
    route = held()
    waiting = form.page.locator("form > [role=status]")
    form.page.clock.run_for(2_900)
    expect(waiting).to_be_empty()
    form.page.clock.run_for(200)
    expect(waiting).to_contain_text("Cloudflare does not accept the token yet.")
    route.continue_()
    world.platform(lambda emulator: emulator.faulted(1))
    while "Cloudflare has accepted the token." not in (waiting.text_content() or ""):
        form.page.clock.run_for(500)
    world.platform(lambda emulator: emulator.clear_faults())
    form.page.clock.resume()
    form.page.get_by_role("heading", level=1, name="Läden & Co", exact=True).wait_for()
    found = world.account(customer)
    assert found is not None
    form.page.get_by_text(re.compile("Ready$")).first.wait_for()
    world.call("DELETE", f"/v1/accounts/{found['id']}", {})


def test_rejected_connect_explains_reason_and_links_to_remedy(wizard, world, cleo, customer, stranger):
    place = world.place
    form = wizard("you@example.com")
    [taken, *_] = cleo.call("GET", "/v1/accounts")["accounts"]
    of_it = world.platform(lambda emulator: emulator.create_token(taken["edge_account_id"]))[1]
    form.fill(taken["edge_account_id"], of_it)
    form.send()
    form.refused(
        "account_taken", "Another user has already connected this Cloudflare account.", "Ask that user, or the operator"
    )
    [own] = [each for each in world.call("GET", "/v1/accounts")["accounts"] if each["id"] == place.ids["accounts"]]
    form.fill(own["edge_account_id"], UNKNOWN)
    form.send()
    form.refused("already_connected", "You have already connected this Cloudflare account.")
    to_it = form.alert.get_by_role("link", name="Open the account")
    expect(to_it).to_have_attribute("href", f"/accounts/{own['id']}")  # this link appears when the list has loaded
    to_it.click()
    form.page.get_by_role("heading", level=1, name="Customer").wait_for()
    assert form.page.url == place.at("/accounts/:id")

    form = wizard(CLEO)
    form.fill(customer.account_id, customer.bootstrap_token)
    form.send()
    form.refused(
        "limit_reached", f"The limit of {MAX_ACCOUNTS} accounts has been reached.", "Delete what you no longer need"
    )
    expect(form.alert.get_by_role("link", name="See your limits")).to_have_attribute("href", "/profile")

    dan = "dan@example.com"
    assert stranger.request.post(f"{place.url}/auth/sign-up", data={"email": dan, "password": PASSWORD}).ok
    form = wizard(dan)
    form.fill(customer.account_id, customer.bootstrap_token)
    form.send()
    form.refused("email_unconfirmed", "The email address has not been confirmed.", "Open the link in the confirmation")
    with form.page.expect_response("**/auth/confirm/resend") as asked:
        form.page.get_by_role("button", name="Resend email").click()
    assert asked.value.ok
    expect(form.page.get_by_text("The email was sent again.")).to_be_visible()
    # The button waits a minute before it sends the next email.
    waiting = form.page.get_by_role("button", name="Try again in")
    expect(waiting).to_have_attribute("aria-disabled", "true")


def test_rate_limited_connect_counts_down_and_repeats_same_request(wizard, customer):
    """The service itself does not limit connect requests, but a proxy in front of the service may."""
    form = wizard("you@example.com")
    form.account.wait_for()  # wait for the page to load, because a page that is still loading depends on timers
    form.page.clock.install()
    # The test controls the clock of the page, because the text of the button changes every second.
    form.page.clock.pause_at(datetime.now(tz=UTC) + timedelta(minutes=1))
    refusal = {"error": {"code": "rate_limited", "message": "Too many requests."}}
    form.page.route(
        "**/v1/accounts", lambda route: route.fulfill(status=429, json=refusal, headers={"Retry-After": "41"}), times=1
    )
    form.fill(customer.account_id, UNKNOWN)
    form.send()
    form.refused("rate_limited", "Too many attempts.")
    form.page.clock.run_for(20_500)
    waiting = form.page.get_by_role("button", name="Try again in")
    expect(waiting).to_have_text("Try again in 21 seconds")
    waiting.click(force=True)
    form.page.clock.run_for(21_000)
    form.send()
    form.refused("invalid_bootstrap", *NOT_ACCEPTED)
    assert len(form.sent) == 2
    assert len(set(form.sent)) == 1


def demonstrated(offered: dict[str, str]) -> Callable[[Route], None]:
    """Return a route handler that adds these values to a page, as `make demo` does."""

    def with_values(route: Route) -> None:
        response = fetched(route)
        mark = f"<meta name=\"demonstration\" content='{json.dumps(offered)}'><title>"
        route.fulfill(response=response, body=response.text().replace("<title>", mark))

    return with_values


def test_demonstration_offers_values_to_fill_in(page, place):
    filled = {"edge_account_id": "a" * 32, "bootstrap_token": "cfat_demonstration"}
    offered = {**filled, "host": "demo.example", "visit_url": "http://127.0.0.1:9/visit"}
    page.route("**/accounts/connect", demonstrated(offered))
    page.goto(f"{place.url}/accounts/connect")
    page.get_by_role("button", name="Fill in these values").click()
    expect(page.get_by_role("button", name="Connect", exact=True)).to_be_focused()
    expect(page.get_by_text("which has the zone demo.example")).to_be_visible()
    for name, value in filled.items():
        assert page.locator(f"form [name={name}]").input_value() == value
    assert page.locator("form [name=name]").input_value() == "Second account"
    page.unroute("**/accounts/connect")
    page.goto(f"{place.url}/accounts/connect")
    page.get_by_role("button", name="Connect").wait_for()
    assert page.get_by_text("This is a demonstration").count() == 0


def test_demonstration_offers_to_view_its_new_site(wizard, world, customer, zone):
    """No browser can open the emulated site, so its page in the application links to a URL that counts a view."""
    account_id = world.with_link_host(customer, f"go.{zone}")
    site = world.call("POST", "/v1/sites", {"account_id": account_id, "host": zone})["site"]
    page = wizard("you@example.com").page
    offered = {"edge_account_id": "", "bootstrap_token": "", "host": zone, "visit_url": "http://127.0.0.1:9/visit"}
    page.route("**/sites/*", demonstrated(offered))
    page.goto(f"{world.place.url}/sites/{site['id']}")
    address = f"{offered['visit_url']}?path={quote(site['path'], safe='')}"
    expect(page.get_by_role("link", name="View a page")).to_have_attribute("href", address)
    page.unroute("**/sites/*")
    page.route("**/sites/*", demonstrated({**offered, "host": "other.example"}))
    page.reload()
    page.get_by_text("Open a page of the site in a browser.").wait_for()
    expect(page.get_by_role("link", name="View a page")).to_have_count(0)
    world.call("DELETE", f"/v1/accounts/{account_id}", {})

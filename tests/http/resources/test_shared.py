"""Tests of /s/{secret}: what viewers of a share get, and what attackers do not get."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.actors.requests.live_reads import Unavailable
from svc.clock import DAY_MS, day_of, day_text
from svc.http.resources.share_lookups import WRONG_SECRETS_PER_MINUTE
from svc.http.resources.shared import VIEWER_TOKEN_S
from svc.ids import new_id
from svc.store.tx import many, sql
from tests.cases import cases
from tests.clock import START_MS
from tests.http.resources.test_badge import texts
from tests.http.serving.test_refusals import is_error
from tests.store.direct_changes import disable_user
from tests.store.makers import a_link, a_site

if TYPE_CHECKING:
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

TODAY = day_of(START_MS)
PASSWORD = "a long password"
PROXY = {"client": ("10.1.2.3", 4711)}


def count(target: str, *, days: int = 3, views: int = 10) -> Tx[None]:
    """Store `views` views for each of the last `days` days, including today."""
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 1, 5, 0, 1)",
        [(target, TODAY - n, views) for n in range(days)],
    )


class Sharer:
    """A user with an account, a site and a link, and a method that shares them."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def begin(self) -> Sharer:
        self.user, self.session, self.account = await self.world.ready()
        self.site = await self.world.store.run(a_site(self.account.id))
        self.link = await self.world.store.run(a_link(self.account.id))
        for target in (self.site, self.link):
            await self.world.store.run(count(target))
        self.paths = {
            "site": f"/v1/sites/{self.site}/shares",
            "link": f"/v1/links/{self.link}/shares",
            "account": f"/v1/accounts/{self.account.id}/shares",
        }
        return self

    async def share(self, kind: str = "site", **more: Any) -> dict[str, Any]:
        """Share a target. Return the share, with its `path`."""
        response = await self.world.call("POST", self.paths[kind], {"name": "Our shop", **more}, headers=self.session)
        assert response.status == 201, response.raw
        share: dict[str, Any] = response.body["share"]
        return {**share, "path": share["url"].removeprefix("https://svc.example")}

    async def get(self, path: str, client: str = "198.51.100.7", **headers: str) -> Response:
        """Send a request from this address, without the user's credential."""
        return await self.world.call("GET", path, headers={"X-Forwarded-For": client, **headers}, scope_base=PROXY)

    async def sign_in(self, share: dict[str, Any], password: str, client: str = "198.51.100.7") -> Response:
        """Send a password."""
        path, headers = f"{share['path']}/report", {"X-Forwarded-For": client}
        return await self.world.call("POST", path, {"password": password}, headers=headers, scope_base=PROXY)


@pytest.fixture
async def sharer(world: World) -> Sharer:
    return await Sharer(world).begin()


@pytest.mark.rule("Y13")
async def test_share_of_a_site_shows_its_stored_totals_without_a_credential(sharer):
    share = await sharer.share()
    response = await sharer.get(f"{share['path']}/report?period=7d")
    assert response.status == 200, response.raw
    assert response.body["share"] == {"kind": "site", "name": "Our shop", "title": "shop.example.com", "lists": False}
    report = response.body["report"]
    assert report["totals"] == {"views": 30, "bots": 3, "visitors": 15}
    assert (report["by"], report["breakdowns"], report["unavailable"]) == ("day", None, None)
    assert sharer.world.supervisor.asked == []
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.rule("Y13")
async def test_share_of_a_link_shows_its_short_url_but_not_its_destination(sharer):
    share = await sharer.share("link")
    response = await sharer.get(f"{share['path']}/report")
    assert response.body["share"]["title"] == "go.example.com/sale26"
    assert response.body["report"]["totals"]["views"] == 30
    assert b"shop.example.com/sale" not in response.raw
    assert sharer.world.supervisor.asked == []


@pytest.mark.rule("Y13")
async def test_share_of_an_account_lists_its_sites_without_the_name_of_the_account(sharer):
    await sharer.world.store.run(sql_rename(sharer.account.id, "ann@example.com's Account"))
    share = await sharer.share("account")
    response = await sharer.get(f"{share['path']}/report?period=7d")
    totals = {"views": 30, "bots": 3, "visitors": 15}
    assert response.body["account"]["sites"] == [{"id": sharer.site, "host": "shop.example.com", "totals": totals}]
    assert response.body["account"]["totals"] == totals
    assert "report" not in response.body
    assert b"ann@" not in response.raw
    for query in ("by=day", "compare=previous"):
        is_error(await sharer.get(f"{share['path']}/report?{query}"), 400, "invalid_request")
    everything = await sharer.get(f"{share['path']}/report?period=all")
    assert everything.body["account"]["from"] == day_text(TODAY - 2)


def sql_rename(account_id: str, name: str) -> Tx[None]:
    yield sql("update accounts set name = $2 where id = $1", account_id, name)


@pytest.mark.rule("Y13")
async def test_only_offered_periods_are_shown(sharer):
    share = await sharer.share(periods=["7d", "last_month"])
    path = f"{share['path']}/report"
    default = await sharer.get(path)
    assert default.body["report"]["period"] == "7d"
    assert default.body["share"]["periods"] == ["7d", "last_month"]
    assert (await sharer.get(f"{path}?period=last_month")).status == 200
    for query in (
        "period=30d", "period=all", "from=2026-11-01", "to=2026-11-20", "from=1970-01-01&to=1970-01-01",
        "period=7d&compare=previous", "compare=year",
    ):  # fmt: skip
        is_error(await sharer.get(f"{path}?{query}"), 400, "invalid_request")
    assert (await sharer.get(f"{path}?period=7d&by=week")).status == 200
    everything = await sharer.share()
    assert (await sharer.get(f"{everything['path']}/report?from=2026-11-01&compare=previous")).status == 200
    assert (await sharer.get(f"{everything['path']}/report")).body["report"]["period"] == "30d"


@pytest.mark.rule("Y13")
async def test_lists_are_shown_only_if_they_are_shared(sharer):
    without, with_lists = await sharer.share(), await sharer.share(lists=True)
    is_error(await sharer.get(f"{without['path']}/report?breakdowns=1"), 400, "invalid_request")
    is_error(await sharer.get(f"{without['path']}/report?statement=1"), 400, "invalid_request")
    assert sharer.world.supervisor.asked == []
    response = await sharer.get(f"{with_lists['path']}/report?breakdowns=1")
    assert response.status == 200
    assert response.body["report"]["unavailable"] == "not_installed"
    assert "lists_at" not in response.body


def contents(response: Response) -> tuple[int, bytes, dict[str, str]]:
    """Return everything by which a client can distinguish two responses, except the request id and the date."""
    varying = ("x-request-id", "date")
    return response.status, response.raw, {k: v for k, v in response.headers.items() if k.lower() not in varying}


@pytest.mark.rule("Y13")
@pytest.mark.parametrize("part", ["/report", "/badge.svg"])
async def test_ended_share_gets_the_response_of_an_unknown_secret(sharer, part):
    world = sharer.world
    deleted, expired, of_site = await sharer.share(), await sharer.share(until=day_text(TODAY)), await sharer.share()
    protected = await sharer.share("link", password=PASSWORD)
    await world.call("DELETE", f"/v1/shares/{deleted['id']}", {}, headers=sharer.session)
    world.clock.now_ms += DAY_MS
    await world.call("DELETE", f"/v1/sites/{sharer.site}", {}, headers=sharer.session)
    unknown = contents(await sharer.get(f"/s/{new_id('shs')}{part}"))
    for share in (deleted, expired, of_site):
        assert contents(await sharer.get(f"{share['path']}{part}")) == unknown
    assert contents(await sharer.get(f"{protected['path']}{part}")) != unknown
    await world.store.run(disable_user(sharer.user.id))
    assert contents(await sharer.get(f"{protected['path']}{part}")) == unknown


@cases(
    "path", ["/s/", "/s/x", "/s/shs_", "/s/shr_aaaaaaaaaaaaaaaaaaaa", "/s/shs_AAAAAAAAAAAAAAAAAAAA/report", "/s/%2e%2e"]
)
async def test_malformed_secret_is_not_found(world, path):
    is_error(await world.call("GET", path), 404, "not_found")


@pytest.mark.rule("Y13")
async def test_thirty_unknown_secrets_per_minute_are_answered_per_network(sharer):
    share = await sharer.share()
    for _ in range(WRONG_SECRETS_PER_MINUTE):
        # requests with a valid secret do not count toward the limit
        assert (await sharer.get(f"{share['path']}/report")).status == 200
        is_error(await sharer.get(f"/s/{new_id('shs')}/report"), 404, "not_found")
    refused = await sharer.get(f"/s/{new_id('shs')}/report")
    is_error(refused, 429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    for path in (f"/s/{new_id('shs')}", f"{share['path']}/report"):
        is_error(await sharer.get(path), 429, "rate_limited")
    is_error(await sharer.sign_in({"path": f"/s/{new_id('shs')}"}, PASSWORD), 429, "rate_limited")
    badge = await sharer.get(f"/s/{new_id('shs')}/badge.svg")
    assert (badge.status, texts(badge.raw.decode())[1]) == (200, "try again later")
    assert badge.headers["Cache-Control"] == "no-store"
    assert (await sharer.get(f"{share['path']}/report", client="198.51.100.8")).status == 200
    # All addresses in the same IPv6 /64 network share one limit.
    for n in range(WRONG_SECRETS_PER_MINUTE):
        await sharer.get(f"/s/{new_id('shs')}", client=f"2001:db8::{n:x}")
    is_error(await sharer.get(f"/s/{new_id('shs')}", client="2001:db8::ffff"), 429, "rate_limited")
    sharer.world.clock.now_ms += 60_000
    is_error(await sharer.get(f"/s/{new_id('shs')}/report"), 404, "not_found")
    assert (await sharer.get(f"{share['path']}/report")).status == 200


@pytest.mark.rule("Y13")
async def test_parallel_guesses_do_not_exceed_the_limit_and_parallel_viewers_do_not_count(sharer):
    share = await sharer.share()
    statuses: Counter[int] = Counter()

    async def get(path: str) -> None:
        statuses[(await sharer.get(path)).status] += 1

    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(get, f"{share['path']}/report")
    assert statuses == {200: 100}
    statuses.clear()
    async with trio.open_nursery() as nursery:
        for _ in range(100):
            nursery.start_soon(get, f"/s/{new_id('shs')}/report")
    assert statuses == {404: WRONG_SECRETS_PER_MINUTE, 429: 100 - WRONG_SECRETS_PER_MINUTE}


@pytest.mark.rule("Y13")
async def test_password_opens_the_report_until_it_is_changed(sharer):
    world, share = sharer.world, await sharer.share(password=PASSWORD)
    path = f"{share['path']}/report"
    is_error(await sharer.get(path), 401, "unauthorized")
    is_error(await sharer.sign_in(share, "a wrong password"), 403, "invalid_password")
    granted = await sharer.sign_in(share, PASSWORD)
    assert granted.status == 200
    opened = {"Authorization": f"Bearer {granted.body['token']}"}
    assert (await sharer.get(path, **opened)).status == 200
    # The token is not valid for another share or for /v1.
    other = await sharer.share(password=PASSWORD)
    is_error(await sharer.get(f"{other['path']}/report", **opened), 401, "unauthorized")
    is_error(await world.call("GET", "/v1/me", headers=opened), 401, "unauthorized")
    # The owner's session does not open the share either.
    is_error(await sharer.get(path, **sharer.session), 401, "unauthorized")
    # Setting the same password again creates another hash, which also invalidates all tokens.
    for password in ("another password", PASSWORD):
        own = f"/v1/shares/{share['id']}"
        assert (await world.call("PATCH", own, {"password": password}, headers=sharer.session)).status == 200
        is_error(await sharer.get(path, **opened), 401, "unauthorized")
        opened = {"Authorization": f"Bearer {(await sharer.sign_in(share, password)).body['token']}"}
        assert (await sharer.get(path, **opened)).status == 200
    assert (await world.call("PATCH", own, {"password": None}, headers=sharer.session)).status == 200
    assert (await sharer.get(path)).status == 200
    assert (await sharer.sign_in(share, "anything")).body["token"] is None


@pytest.mark.rule("Y13")
async def test_token_ends_after_twelve_hours_and_cannot_be_extended(sharer):
    share = await sharer.share(password=PASSWORD)
    path = f"{share['path']}/report"
    token = (await sharer.sign_in(share, PASSWORD)).body["token"]
    expires, _, code = token.partition(".")
    forged = [
        f"{int(expires) + 1}.{code}", f"0{expires}.{code}", f"{expires}.{code[:-1]}", f"{expires}.", f"{expires}",
        f"{expires}.{code}.", f".{code}", "9" * 190, f"٣.{code}", f"-{expires}.{code}", f"{expires}.{code.upper()}",
    ]  # fmt: skip
    for attempt in forged:
        headers = {"Authorization": f"Bearer {attempt}".encode().decode("latin-1")}
        is_error(await sharer.get(path, **headers), 401, "unauthorized")
    opened = {"Authorization": f"Bearer {token}"}
    sharer.world.clock.now_ms += VIEWER_TOKEN_S * 1000 - 1_000
    assert (await sharer.get(path, **opened)).status == 200
    sharer.world.clock.now_ms += 1_000
    is_error(await sharer.get(path, **opened), 401, "unauthorized")


@pytest.mark.rule("Y13")
async def test_wrong_passwords_are_limited_per_share_and_network_and_not_logged_as_the_owners(sharer):
    share, other = await sharer.share(password=PASSWORD), await sharer.share(password=PASSWORD)
    most = sharer.world.config.limits.wrong_passwords_per_hour
    for _ in range(most):
        is_error(await sharer.sign_in(share, "a wrong password"), 403, "invalid_password")
    is_error(await sharer.sign_in(share, PASSWORD), 429, "rate_limited")
    assert (await sharer.sign_in(share, PASSWORD, client="203.0.113.1")).status == 200
    assert (await sharer.sign_in(other, PASSWORD)).status == 200
    events = (await sharer.world.call("GET", "/v1/events", headers=sharer.session)).body["events"]
    assert "password.refuse" not in {event["action"] for event in events}


@pytest.mark.rule("Y13")
async def test_number_of_passwords_per_network_is_limited(sharer):
    share = await sharer.share()  # without a password, so that the test needs no CPU time for hashes
    for _ in range(60):
        assert (await sharer.sign_in(share, PASSWORD)).status == 200
    is_error(await sharer.sign_in(share, PASSWORD), 429, "rate_limited")
    assert (await sharer.sign_in(share, PASSWORD, client="203.0.113.1")).status == 200


@pytest.mark.rule("Y13")
async def test_many_viewers_can_sign_in_at_once_and_do_not_delay_users(sharer):
    share = await sharer.share(password=PASSWORD)
    statuses: list[int] = []
    one_is_done = trio.Event()

    async def view() -> None:
        statuses.append((await sharer.sign_in(share, PASSWORD)).status)
        one_is_done.set()

    viewers = sharer.world.config.limits.wrong_passwords_per_hour + 4
    async with trio.open_nursery() as nursery:
        for _ in range(viewers):
            nursery.start_soon(view)
        await one_is_done.wait()
        passwords = {"old": "a wrong password", "new": "another password"}
        refused = await sharer.world.call("POST", "/v1/me/password", passwords, headers=sharer.session)
        is_error(refused, 403, "invalid_password")
        assert len(statuses) < viewers / 2
    assert statuses == [200] * viewers


@pytest.mark.rule("Y13")
async def test_password_form_rejects_other_origins(sharer):
    share = await sharer.share(password=PASSWORD)
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        path = f"{share['path']}/report"
        response = await sharer.world.call("POST", path, {"password": PASSWORD}, headers=headers)
        is_error(response, 403, "cross_origin")


@pytest.mark.rule("Y13")
async def test_badge_shows_stored_views_and_can_be_cached_for_ten_minutes(sharer):
    share = await sharer.share()
    response = await sharer.get(f"{share['path']}/badge.svg?period=7d&label=Visits%20%3C%26%3E")
    assert (response.status, response.headers["Content-Type"].partition(";")[0]) == (200, "image/svg+xml")
    assert texts(response.raw.decode()) == ["Visits <&>", "30"]
    assert response.headers["Cache-Control"] == "public, max-age=600"
    assert response.headers["Cross-Origin-Resource-Policy"] == "cross-origin"
    assert response.headers["X-Content-Type-Options"] == "nosniff"
    assert response.headers["Content-Security-Policy"].startswith("default-src 'none'")
    assert sharer.world.supervisor.asked == []


@pytest.mark.rule("Y13")
async def test_badge_is_an_image_in_every_case(sharer):
    limited = await sharer.share(periods=["7d"])
    protected = await sharer.share(password=PASSWORD, lists=True)
    for path, shown in (
        (f"{limited['path']}/badge.svg", ["views", "30"]),
        (f"{limited['path']}/badge.svg?period=all", ["views", "not available"]),
        (f"{protected['path']}/badge.svg", ["views", "private"]),
        (f"{(await sharer.share('link'))['path']}/badge.svg", ["clicks", "30"]),
        (f"{(await sharer.share('account'))['path']}/badge.svg?period=today", ["views", "10"]),
        (f"/s/{new_id('shs')}/badge.svg", ["views", "not available"]),
    ):
        response = await sharer.get(path)
        assert response.status == 200
        assert texts(response.raw.decode()) == shown
    # The viewer's token does not open the badge, because caches may store the badge.
    token = (await sharer.sign_in(protected, PASSWORD)).body["token"]
    response = await sharer.get(f"{protected['path']}/badge.svg", Authorization=f"Bearer {token}")
    assert texts(response.raw.decode())[1] == "private"


async def test_refused_lists_say_when_they_are_available_again(sharer):
    """In this test, a test double refuses the reads. tests/actors tests real reads and their limit."""
    share = await sharer.share(lists=True)
    sharer.world.supervisor.readable = Unavailable("cloudflare")
    response = await sharer.get(f"{share['path']}/report?breakdowns=1&period=7d")
    assert response.body["report"]["unavailable"] == "cloudflare"
    assert response.body["report"]["totals"]["views"] == 30
    assert response.body["lists_at"] > "2026-11-21T04:00:00.000Z"


@pytest.mark.rule("Y13")
async def test_secret_is_not_in_the_log(sharer, caplog):
    caplog.set_level("DEBUG")
    share = await sharer.share(password=PASSWORD)
    secret = share["path"].rpartition("/")[2]
    unknown = new_id("shs")
    for path in (share["path"], f"/s/{unknown}"):
        of_site = f"/sites/{sharer.site}"
        for part in (
            "", "/report", "/report?period=x", "/badge.svg", "/badge.svg?label=" + "x" * 99, "/other",
            of_site, f"{of_site}/report", f"{of_site}/report?period=x", f"{of_site}/other", "/sites/x",
        ):  # fmt: skip
            await sharer.get(path + part)
        await sharer.sign_in({"path": path}, "a wrong password")
        await sharer.world.call("PUT", f"{path}/report", {})
    assert [record for record in caplog.records if record.message == "request"]
    for record in caplog.records:
        shown = f"{record.getMessage()} {vars(record)}"
        assert secret not in shown
        assert unknown not in shown

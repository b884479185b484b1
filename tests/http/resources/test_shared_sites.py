"""Tests of /s/{secret}/sites/{site_id}: the reports of single sites of a shared account, and attacks on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, day_text
from svc.http.resources.share_lookups import WRONG_SECRETS_PER_MINUTE
from svc.ids import new_id
from svc.store import sites
from tests.http.resources.test_shared import PASSWORD, TODAY, Sharer, contents, count
from tests.http.serving.test_refusals import is_error
from tests.store.direct_changes import disable_site
from tests.store.makers import a_site, an_account

if TYPE_CHECKING:
    from tests.http.conftest import Response, World

pytestmark = pytest.mark.rule("Y13")


@pytest.fixture
async def sharer(world: World) -> Sharer:
    return await Sharer(world).begin()


async def report(sharer: Sharer, share: dict[str, Any], site_id: str, query: str = "", **headers: str) -> Response:
    """Request the report of a site of a shared account, without the user's credential."""
    return await sharer.get(f"{share['path']}/sites/{site_id}/report{query}", **headers)


async def test_viewer_opens_the_report_of_a_site_of_the_account(sharer):
    other = await sharer.world.store.run(a_site(sharer.account.id, "blog.example.com"))
    await sharer.world.store.run(count(other, views=1))
    share = await sharer.share("account", lists=True)
    listed = (await sharer.get(f"{share['path']}/report?period=7d")).body
    assert [(site["id"], site["host"]) for site in listed["account"]["sites"]] == [
        (sharer.site, "shop.example.com"),
        (other, "blog.example.com"),
    ]
    assert not listed["share"]["lists"]  # the response with the list of sites has no breakdowns
    response = await report(sharer, share, sharer.site, "?period=7d")
    assert response.status == 200, response.raw
    assert response.body["share"] == {
        "kind": "account", "name": "Our shop", "title": "shop.example.com", "lists": True,
    }  # fmt: skip
    assert response.body["report"]["totals"] == {"views": 30, "bots": 3, "visitors": 15}
    assert "account" not in response.body
    assert (await report(sharer, share, other, "?period=7d")).body["report"]["totals"]["views"] == 3
    # The totals come from the store, so no account's database is read. The response has the same headers as that of a
    # shared site.
    assert sharer.world.supervisor.asked == []
    of_site = await sharer.get(f"{(await sharer.share())['path']}/report?period=7d")
    for name in ("Cache-Control", "Referrer-Policy", "X-Robots-Tag"):
        assert response.headers[name] == of_site.headers[name]
    assert (response.headers["Cache-Control"], response.headers["Referrer-Policy"]) == ("no-store", "no-referrer")
    assert of_site.body["report"] == response.body["report"]


async def test_sites_that_the_account_does_not_show_cannot_be_distinguished(sharer):
    """The response is the same for a site of another account or user, a deleted or disabled site, and an unknown id."""
    store, share = sharer.world.store, await sharer.share("account")
    own_account = await store.run(an_account(sharer.user.id, link_host=False))
    others_account = await store.run(an_account(link_host=False))
    deleted, disabled, of_own_account, of_other_user = [
        await store.run(a_site(account, f"{name}.example.com"))
        for account, name in (
            (sharer.account.id, "a"), (sharer.account.id, "b"), (own_account, "c"), (others_account, "d"),
        )
    ]  # fmt: skip
    for site in (deleted, disabled):
        assert (await report(sharer, share, site)).status == 200
    await store.run(sites.delete_site(sharer.account.id, deleted))
    await store.run(disable_site(disabled))
    unknown = contents(await report(sharer, share, new_id("site")))
    assert unknown[0] == 404
    malformed = (sharer.link, sharer.account.id, share["id"], "..", "%2e%2e", "site_", f"{sharer.site}x", "'")
    for site in (deleted, disabled, of_own_account, of_other_user, *malformed):
        assert contents(await report(sharer, share, site)) == unknown, site
        is_error(await sharer.get(f"{share['path']}/sites/{site}"), 404, "not_found")
    shown = (await sharer.get(f"{share['path']}/report")).body["account"]["sites"]
    assert [site["id"] for site in shown] == [sharer.site]


async def test_site_is_shown_only_below_a_share_of_its_account(sharer):
    for kind in ("site", "link"):
        share = await sharer.share(kind)
        is_error(await report(sharer, share, sharer.site), 404, "not_found")
    user, session, account = await sharer.world.ready(edge_account_id="f" * 32)
    path = f"/v1/accounts/{account.id}/shares"
    made = await sharer.world.call("POST", path, {"name": "Other"}, headers=session)
    other = {"path": made.body["share"]["url"].removeprefix("https://svc.example")}
    is_error(await report(sharer, other, sharer.site), 404, "not_found")
    assert user.id != sharer.user.id


async def test_password_protects_the_sites_and_hides_which_sites_there_are(sharer):
    share, unknown = await sharer.share("account", password=PASSWORD, lists=True), new_id("site")
    refused = [contents(await report(sharer, share, site)) for site in (sharer.site, unknown)]
    assert refused[0] == refused[1]
    assert refused[0][0] == 401
    token = (await sharer.sign_in(share, PASSWORD)).body["token"]
    opened = {"Authorization": f"Bearer {token}"}
    assert (await report(sharer, share, sharer.site, **opened)).status == 200
    is_error(await report(sharer, share, unknown, **opened), 404, "not_found")
    # A viewer's token for the shared account does not open a protected share of its site, and vice versa.
    of_site = await sharer.share(password=PASSWORD)
    is_error(await sharer.get(f"{of_site['path']}/report", **opened), 401, "unauthorized")
    token_of_site = (await sharer.sign_in(of_site, PASSWORD)).body["token"]
    refusal = await report(sharer, share, sharer.site, Authorization=f"Bearer {token_of_site}")
    is_error(refusal, 401, "unauthorized")
    # All pages send the password to the same path, so that one limit counts all attempts.
    attempt = await sharer.world.call("POST", f"{share['path']}/sites/{sharer.site}/report", {"password": PASSWORD})
    is_error(attempt, 405, "method_not_allowed")


async def test_periods_and_lists_of_the_share_apply_to_its_sites(sharer):
    share = await sharer.share("account", periods=["7d", "last_month"])
    assert (await report(sharer, share, sharer.site)).body["report"]["period"] == "7d"
    for query in ("period=30d", "from=2026-11-01", "period=7d&compare=previous", "breakdowns=1", "statement=1"):
        is_error(await report(sharer, share, sharer.site, f"?{query}"), 400, "invalid_request")
    assert sharer.world.supervisor.asked == []
    with_lists = await sharer.share("account", lists=True)
    response = await report(sharer, with_lists, sharer.site, "?breakdowns=1&compare=previous&by=week")
    assert response.body["report"]["unavailable"] == "not_installed"


async def test_sites_end_with_the_share(sharer):
    deleted, expired = await sharer.share("account"), await sharer.share("account", until=day_text(TODAY))
    for share in (deleted, expired):
        assert (await report(sharer, share, sharer.site)).status == 200
    await sharer.world.call("DELETE", f"/v1/shares/{deleted['id']}", {}, headers=sharer.session)
    is_error(await report(sharer, deleted, sharer.site), 404, "not_found")
    sharer.world.clock.now_ms += DAY_MS
    unknown = contents(await report(sharer, {"path": f"/s/{new_id('shs')}"}, sharer.site))
    for share in (deleted, expired):
        assert contents(await report(sharer, share, sharer.site)) == unknown


async def test_unknown_secrets_are_limited_on_the_paths_of_sites_too(sharer):
    share = await sharer.share("account")
    for n in range(WRONG_SECRETS_PER_MINUTE):
        path = f"/s/{new_id('shs')}/sites/{sharer.site}"
        is_error(await sharer.get(path if n % 2 else f"{path}/report"), 404, "not_found")
    for path in (f"/s/{new_id('shs')}/sites/{sharer.site}/report", f"{share['path']}/sites/{sharer.site}"):
        is_error(await sharer.get(path), 429, "rate_limited")


async def test_unknown_sites_of_a_known_share_do_not_block_its_viewers(sharer):
    """Requests for unknown sites are not limited: guessing an id with 100 random bits is impossible, and an open page
    may request a site that was deleted.
    """
    share = await sharer.share("account")
    for _ in range(2 * WRONG_SECRETS_PER_MINUTE):
        is_error(await report(sharer, share, new_id("site")), 404, "not_found")
    assert (await report(sharer, share, sharer.site)).status == 200

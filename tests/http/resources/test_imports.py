"""POST …/totals: a user's import of daily totals into a site or link."""

from __future__ import annotations

import base64
import gzip

import pytest

from svc.actors.requests.live_reads import Unavailable
from svc.actors.requests.web_analytics import WebViews
from svc.clock import day_of, day_text
from svc.model import Counts
from tests.clock import START_MS
from tests.http.conftest import EDGE_ACCOUNT
from tests.imports.totals.files import OWN, zipped
from tests.store.makers import a_link, a_site

pytestmark = pytest.mark.rule("X4")

TODAY = day_of(START_MS)


def day(ago: int) -> str:
    return day_text(TODAY - ago)


def encoded(content: str | bytes) -> str:
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


@pytest.fixture
async def place(world):
    """A user, the headers of a session, and the ids of a site and a link."""
    user, session, account = await world.ready()
    return user, session, await world.store.run(a_site(account.id)), await world.store.run(a_link(account.id))


async def days(world, session, site_id: str) -> list[tuple[str, int]]:
    totals = (await world.call("GET", f"/v1/sites/{site_id}/totals", headers=session)).body["totals"]
    return [(total["at"][:10], total["views"]) for total in totals if total.get("imported")]


async def test_dry_run_returns_the_result_and_writes_nothing(world, place):
    _, session, site_id, _ = place
    file = encoded(f"day,views,visitors\n{day(3)},5,4\n{day(2)},7,1\n{day(0)},9,9\nyesterday,1,1\n")
    body = {"file": file, "dry_run": True}
    response = await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers=session)
    result = response.body["result"]
    assert response.status == 200
    assert {name: result[name] for name in ("dry_run", "added", "views", "counted_here", "rejected")} == {
        "dry_run": True, "added": 2, "views": 12, "counted_here": 1, "rejected": 1,
    }  # fmt: skip
    assert (result["first_day"], result["last_day"]) == (day(3), day(2))
    assert result["rejected_lines"][0]["line"] == 5
    assert await days(world, session, site_id) == []
    assert "totals.import" not in [event["action"] for event in await events(world, session)]


async def events(world, session) -> list[dict[str, object]]:
    found: list[dict[str, object]] = (await world.call("GET", "/v1/events", headers=session)).body["events"]
    return found


async def test_import_is_repeatable_and_recorded_once(world, place):
    _, session, site_id, _ = place
    body = {"file": encoded(f"day,views\n{day(2)},7\n{day(1)},8\n")}
    key = {"Idempotency-Key": "import"}
    first = await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers={**session, **key})
    again = await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers={**session, **key})
    assert again.body == first.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert first.body["result"]["added"] == 2
    later = (await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers=session)).body["result"]
    assert (later["added"], later["unchanged"]) == (0, 2)
    assert await days(world, session, site_id) == [(day(2), 7), (day(1), 8)]
    recorded = [event for event in await events(world, session) if event["action"] == "totals.import"]
    assert [(event["target"], event["count"]) for event in recorded] == [(site_id, 2)]


async def test_other_numbers_are_replaced_only_on_request(world, place):
    _, session, site_id, _ = place
    await world.call(
        "POST", f"/v1/sites/{site_id}/totals", {"file": encoded(f"day,views\n{day(1)},8\n")}, headers=session
    )
    body = {"file": encoded(f"day,views\n{day(1)},9\n")}
    result = (await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers=session)).body["result"]
    assert (result["added"], result["different"]) == (0, 1)
    assert await days(world, session, site_id) == [(day(1), 8)]
    await world.call("POST", f"/v1/sites/{site_id}/totals", {**body, "replace": True}, headers=session)
    assert await days(world, session, site_id) == [(day(1), 9)]


async def test_only_the_named_target_is_imported_from_an_export(world, place):
    _, session, _, link_id = place
    link = (await world.call("GET", f"/v1/links/{link_id}", headers=session)).body["link"]
    other = "0" * 32
    counted = ((EDGE_ACCOUNT, link["code"], 3), (EDGE_ACCOUNT, "other", 90), (other, link["code"], 900))
    rows = "".join(
        f"lnk_{edge_account_id[:20]},link,{edge_account_id},{code},{day(4)},{views},0,0,1,\n"
        for edge_account_id, code, views in counted
    )
    archive = zipped({"daily_totals.csv": OWN + rows})
    body = {"file": encoded(archive)}
    result = (await world.call("POST", f"/v1/links/{link_id}/totals", body, headers=session)).body["result"]
    assert (result["added"], result["views"]) == (1, 3)
    for edge_account_id, code in ((EDGE_ACCOUNT, "other"), (other, link["code"])):
        absent = OWN + f"lnk_{'a' * 20},link,{edge_account_id},{code},{day(4)},5,0,0,1,\n"
        refused = await world.call("POST", f"/v1/links/{link_id}/totals", {"file": encoded(absent)}, headers=session)
        assert issues(refused) == [("file", "not_readable")], code


def issues(response) -> list[tuple[str, str]]:
    assert (response.status, response.code) == (400, "invalid_request"), response.raw
    return [(issue["path"], issue["code"]) for issue in response.body["error"]["details"]["issues"]]


async def test_unreadable_files_are_refused(world, place):
    _, session, site_id, _ = place
    bomb = gzip.compress(b"day,views\n" + b"2020-01-01,1\n" * 2_700_000)
    wrong_lines = gzip.compress(b"day,views\n" + b"x,1\n" * 400_001)
    assert max(len(bomb), len(wrong_lines)) < 74_000  # both files fit into the body of a request
    damaged = gzip.compress(f"day,views\n{day(1)},5\n".encode())[:-6]
    for content in (
        b"\n",
        b"no columns",
        b"\xff" * 100,
        damaged,
        bomb,
        wrong_lines,
        zipped({"a.csv": "day,views\n", "b.csv": ""}),
    ):
        response = await world.call("POST", f"/v1/sites/{site_id}/totals", {"file": encoded(content)}, headers=session)
        assert issues(response) == [("file", "not_readable")], content[:20]
    for wrong in ("a", "YQ", "Y Q==", "€€€€"):
        response = await world.call("POST", f"/v1/sites/{site_id}/totals", {"file": wrong}, headers=session)
        assert issues(response) == [("file", "wrong_form")], wrong
    assert await days(world, session, site_id) == []


async def test_page_views_of_web_analytics_are_imported_as_estimates(world, place):
    _, session, site_id, link_id = place
    host = (await world.call("GET", f"/v1/sites/{site_id}", headers=session)).body["site"]["host"]
    days_ = {TODAY - 3: Counts(50, 0, 20), TODAY - 1: Counts(70, 0, 30)}
    world.supervisor.web_views = WebViews(days_, {TODAY - 1})
    body = {"source": "cloudflare"}
    dry = await world.call("POST", f"/v1/sites/{site_id}/totals", {**body, "dry_run": True}, headers=session)
    assert world.supervisor.asked[-1] == f"web analytics {host} {TODAY - 182} {TODAY - 1}"
    assert (dry.status, dry.body["result"]["added"], dry.body["result"]["views"]) == (200, 2, 120)
    assert await days(world, session, site_id) == []
    result = (await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers=session)).body["result"]
    assert result["product"] == "Cloudflare Web Analytics"
    assert result["notes"][0].startswith("1 of 2 days are estimates")
    assert await days(world, session, site_id) == [(day(3), 50), (day(1), 70)]
    shown = (await world.call("GET", f"/v1/sites/{site_id}/report?period=7d", headers=session)).body["report"]
    estimated = [point["at"][:10] for point in shown["series"] if point.get("estimated")]
    assert estimated == [day(1)]
    assert [event["count"] for event in await events(world, session) if event["action"] == "totals.import"] == [2]

    world.supervisor.web_views = WebViews({}, frozenset())
    nothing = await world.call("POST", f"/v1/sites/{site_id}/totals", body, headers=session)
    assert (nothing.status, nothing.body["result"]["added"]) == (200, 0)
    link = await world.call("POST", f"/v1/links/{link_id}/totals", body, headers=session)
    assert set(issues(link)) == {("file", "required"), ("source", "unknown")}


@pytest.mark.parametrize(
    ("reason", "status", "code"),
    [
        ("rate_limited", 429, "rate_limited"),
        ("cloudflare", 503, "cloudflare_unavailable"),
        ("not_installed", 409, "account_not_ready"),
    ],
)
async def test_unavailable_web_analytics_are_reported(world, place, reason, status, code):
    _, session, site_id, _ = place
    world.supervisor.web_views = Unavailable(reason)
    response = await world.call("POST", f"/v1/sites/{site_id}/totals", {"source": "cloudflare"}, headers=session)
    assert (response.status, response.code) == (status, code)
    assert await days(world, session, site_id) == []


async def test_site_needs_either_a_file_or_a_source(world, place):
    _, session, site_id, _ = place
    path, file = f"/v1/sites/{site_id}/totals", encoded(f"day,views\n{day(1)},5\n")
    for body, wanted in (
        ({}, ("file", "required")),
        ({"file": None, "source": None}, ("file", "required")),
        ({"file": file, "source": "cloudflare"}, ("source", "not_combinable")),
        ({"source": "google"}, ("source", "not_offered")),
    ):
        assert issues(await world.call("POST", path, body, headers=session)) == [wanted], body


async def test_deleted_and_foreign_targets_are_not_found(world, place):
    _, session, _, link_id = place
    file = encoded(f"day,views\n{day(1)},5\n")
    stranger = await world.session(await world.user())
    assert (await world.call("POST", f"/v1/links/{link_id}/totals", {"file": file}, headers=stranger)).status == 404
    await world.call("DELETE", f"/v1/links/{link_id}", headers=session)
    assert (await world.call("POST", f"/v1/links/{link_id}/totals", {"file": file}, headers=session)).status == 404

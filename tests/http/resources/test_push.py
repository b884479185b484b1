"""Tests of POST /edge/push, and of the resulting reports."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pydantic import TypeAdapter, ValidationError

from svc.actors.requests.live_reads import Unavailable
from svc.api.push import read_parts, read_push
from svc.clock import DAY_MS, HOUR_MS, day_text, iso
from svc.errors import Invalid
from svc.ids import digest, new_secret
from svc.model import Counts
from svc.store import accounts, imported_days, states, totals, worker_keys
from svc.store.tx import sql
from svc.worker.counts import DayStatement, Live
from svc.worker.ledger import Events, TargetDay
from svc.worker.pushed import PushedPart
from tests.cases import cases
from tests.clock import START_MS
from tests.http.conftest import OTHER_EDGE_ACCOUNT

if TYPE_CHECKING:
    from svc.model import Account, Dimension
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

Rows = Sequence[list[Any]]
SHARED = json.loads((Path(__file__).parents[3] / "docs/develop/push.schema.json").read_text())

DROPPED = {"budget": 0, "invalid": 0, "unknown_target": 0, "too_old": 0, "busy": 0, "expired": 0}


def schema(name: str) -> Any:
    """Return a validator for one of the schemas that the Worker and the service share."""
    return Draft202012Validator({**SHARED, "oneOf": [{"$ref": f"#/$defs/{name}"}]})


class Place:
    """An account with a site, a link and a Worker."""

    def __init__(
        self,
        world: World,
        session: dict[str, str],
        account: Account,
        site: str,
        link: dict[str, str],
        worker: dict[str, str],
    ) -> None:
        self.world, self.session, self.account = world, session, account
        self.site, self.link, self.worker = site, link["id"], worker
        self.code = link["code"]
        self.today = world.clock() // DAY_MS

    def part(
        self,
        part_id: int = 1,
        day: int = 0,
        hours: Sequence[tuple[int, Rows]] = (),
        days: Rows = (),
        refused: Sequence[int] = (),
        upto: int | None = None,
        *,
        final: bool = False,
    ) -> dict[str, Any]:
        """Return a part for `day` days ago. `hours`: (hour, rows) pairs. `upto`: the number of hours covered."""
        start = (self.today - day) * DAY_MS
        covered = 24 if final else (upto if upto is not None else max((hour + 1 for hour, _ in hours), default=0))
        return {
            "id": part_id,
            "day": day_text(self.today - day),
            "as_of": start + covered * HOUR_MS,
            "final": final,
            "hours": [{"at": start + hour * HOUR_MS, "rows": rows} for hour, rows in hours],
            "refused_hours": [start + hour * HOUR_MS for hour in refused],
            "days": list(days),
        }

    def body(self, *parts: Any, **more: Any) -> dict[str, Any]:
        """Return the body of a push with these parts."""
        head = {
            "v": 1,
            "install": "op_1",
            "bundle": "b" * 64,
            "schema": 1,
            "sent_at": self.world.clock(),
            "queue": len(parts),
            "error": None,
            "dropped": DROPPED,
        }
        return {**head, "parts": list(parts), **more}

    async def push(self, *parts: Any, **more: Any) -> Response:
        """Send a push with these parts, and return the response."""
        response = await self.world.call("POST", "/edge/push", self.body(*parts, **more), headers=self.worker)
        if response.status == 200:
            schema("answer").validate(response.body)
        return response

    async def report(self, noun: str = "site", query: str = "") -> Any:
        """Return the report of the site or the link."""
        target = self.site if noun == "site" else self.link
        response = await self.world.call("GET", f"/v1/{noun}s/{target}/report{query}", headers=self.session)
        assert response.status == 200, response.raw
        return response.body["report"]


@pytest.fixture
async def place(world):
    user = await world.user()
    account = await world.account(user, link_host="go.example.com")
    session = await world.session(user)
    site = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    link = await world.call(
        "POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}, headers=session
    )
    key = new_secret("svcw_")
    await world.store.run(worker_keys.add_worker_key(account.id, digest(key), "op_1"))
    worker = {"Authorization": f"Bearer {key}"}
    return Place(world, session, account, site.body["site"]["id"], link.body["link"], worker)


async def test_pushes_of_these_tests_match_the_shared_schema(place):
    hours = [(0, [[place.site, 5, 1, 4]])]
    schema("push").validate(place.body(place.part(hours=hours, days=[[place.site, 5, 1, 4]], refused=[1])))


@pytest.mark.rule("A22")
async def test_push_without_parts_is_recorded(place):
    response = await place.push(queue=0, error="d1: slow")
    assert response.body == {"ok": True, "accepted": [], "refused": [], "unknown_targets": []}
    shown = await place.world.call("GET", f"/v1/accounts/{place.account.id}", headers=place.session)
    push = shown.body["account"]["push"]
    assert (push["at"], push["error"], push["queue"]) == (iso(place.world.clock()), "d1: slow", 0)


@pytest.mark.rule("G9", "R1", "R2", "W3")
async def test_push_becomes_a_report_and_a_repeat_changes_nothing(place):
    hours = [(0, [[place.site, 5, 1, 4]]), (2, [[place.site, 2, 0, 2]])]
    part = place.part(hours=hours, days=[[place.site, 7, 1, 5]], upto=3)
    for _ in range(2):
        response = await place.push(part)
        assert response.body == {"ok": True, "accepted": [1], "refused": [], "unknown_targets": []}
        report = await place.report()
        start = place.today * DAY_MS
        assert report == {
            "period": "today",
            "from": day_text(place.today),
            "to": day_text(place.today),
            "as_of": iso(start + 3 * HOUR_MS),
            "totals": {"views": 7, "bots": 1, "visitors": 5},
            "series": [
                {"at": iso(start), "views": 5, "bots": 1, "visitors": 4},
                {"at": iso(start + HOUR_MS), "views": 0, "bots": 0, "visitors": 0},
                {"at": iso(start + 2 * HOUR_MS), "views": 2, "bots": 0, "visitors": 2},
            ],
            "incomplete": False,
            "breakdowns": None,
            "breakdowns_from": None,
            "unavailable": None,
        }
    assert place.world.supervisor.asked == ["zone example.com", "records of example.com"]


@pytest.mark.rule("R1")
async def test_longer_periods_have_a_point_per_day(place):
    await place.push(
        place.part(1, day=2, days=[[place.site, 10, 2, 8]], final=True),
        place.part(2, hours=[(0, [[place.site, 1, 0, 1]])], days=[[place.site, 1, 0, 1]]),
    )
    week = await place.report(query="?period=7d")
    assert [point["views"] for point in week["series"]] == [0, 0, 0, 0, 10, 0, 1]
    assert week["totals"] == {"views": 11, "bots": 2, "visitors": 9}
    assert len((await place.report(query="?period=30d"))["series"]) == 30


@pytest.mark.rule("R1", "R4", "X4")
async def test_imported_days_count_in_reports(place):
    read, imported = place.world.store.read, {place.today - 2: Counts(10, 2, 8), place.today - 40: Counts(90)}
    for noun, name in (("site", "example.com"), ("link", place.code)):
        [target] = await read(imported_days.targets_named([place.account.id], noun, name))
        await place.world.store.run(imported_days.import_days(target, imported))
        # the day's totals are unknown for this target, even if the Worker has pushed totals of other targets
        for final in (False, True):
            await place.push(place.part(day=2, final=final))
            week = await place.report(noun, "?period=7d")
            assert week["totals"] == {"views": 10, "bots": 2, "visitors": 8}
            assert [point["views"] for point in week["series"] if point["views"]] == [10]
        shown = await place.world.call("GET", f"/v1/{noun}s", headers=place.session)
        assert shown.body[f"{noun}s"][0]["views_7d" if noun == "site" else "clicks_7d"] == 10
        assert shown.body[f"{noun}s"][0].get("first_view_at") is None


@pytest.mark.rule("R7")
async def test_refused_hours_make_todays_report_incomplete(place):
    await place.push(place.part(hours=[(0, [])], days=[[place.site, 9, 0, 9]], refused=[1], upto=1))
    report = await place.report()
    assert report["incomplete"] is True
    assert report["totals"]["views"] == 9
    assert (await place.report("link"))["incomplete"] is False


async def test_targets_of_another_account_are_reported_as_unknown(place):
    response = await place.push(
        place.part(hours=[(0, [["site_aaaaaaaaaaaaaaaaaaaa", 1, 1, 1], [place.site, 3, 0, 3]])])
    )
    assert response.body["accepted"] == [1]
    assert response.body["unknown_targets"] == ["site_aaaaaaaaaaaaaaaaaaaa"]
    assert (await place.report())["series"][0]["views"] == 3


@pytest.mark.rule("W7")
@pytest.mark.parametrize("header", [None, "Bearer svcw_unknown", "Basic abc"])
async def test_unknown_worker_key_is_unauthorized(place, header):
    headers = {} if header is None else {"Authorization": header}
    response = await place.world.call("POST", "/edge/push", place.body(), headers=headers)
    assert (response.status, response.code) == (401, "unauthorized")
    assert (await place.world.call("POST", "/edge/push", place.body(), headers=place.session)).status == 401


@pytest.mark.rule("W7")
async def test_previous_worker_key_is_accepted_for_one_day(place):
    new = new_secret("svcw_")
    until = place.world.clock() + DAY_MS
    await place.world.store.run(worker_keys.add_worker_key(place.account.id, digest(new), "op_2"))
    await place.world.store.run(worker_keys.retire_worker_keys(place.account.id, "op_2", until))
    place.world.clock.advance_s(86_399)
    assert (await place.push()).status == 200
    place.world.clock.advance_s(1)
    assert (await place.push()).status == 401
    place.worker = {"Authorization": f"Bearer {new}"}
    assert (await place.push()).status == 200


counts = st.integers(0, 2**53 - 1)
rows = st.lists(
    st.tuples(st.from_regex(r"(site|lnk)_[a-z2-7]{20}", fullmatch=True), counts, counts, counts).map(list), max_size=3
)
hour_starts = st.integers(0, 600_000).map(lambda hour: hour * HOUR_MS)
parts = st.fixed_dictionaries(
    {
        "id": st.integers(1, 2**53 - 1),
        "day": st.dates().map(str),
        "as_of": hour_starts,
        "final": st.booleans(),
        "hours": st.lists(st.fixed_dictionaries({"at": hour_starts, "rows": rows}), max_size=24),
        "refused_hours": st.lists(hour_starts, max_size=24),
        "days": rows,
    }
)


@pytest.mark.rule("W3")
@given(parts)
def test_every_part_allowed_by_the_shared_schema_can_be_read(part):
    schema("part").validate(part)
    read, wrong = read_parts((part,))
    assert wrong == []
    assert read[0].id == part["id"]
    assert [(hour.at, len(hour.rows)) for hour in read[0].hours] == [(h["at"], len(h["rows"])) for h in part["hours"]]


WRONG_PARTS: list[dict[str, Any]] = [
    {"day": "2026-13-01"},
    {"day": "20261121"},
    {"day": 5},
    {"as_of": -1},
    {"as_of": 2**60},
    {"as_of": 1.5},
    {"final": 1},
    {"hours": None},
    {"hours": [{"at": 1, "rows": []}]},
    {"hours": [{"at": 0}]},
    {"days": [["site_x", 1, 1]]},
    {"days": [["site_x", 1, 1, -1]]},
    {"days": [["site_x", 1, 1, "1"]]},
    {"days": [["site_\x00", 1, 1, 1]]},
    {"days": [[5, 1, 1, 1]]},
    {"days": [["x" * 101, 1, 1, 1]]},
    {"days": [["site_x", 2**53, 1, 1]]},
    {"refused_hours": ["x"]},
]


@pytest.mark.rule("W4")
async def test_invalid_part_is_refused_by_id_and_the_others_are_accepted(place):
    good = place.part(1, hours=[(0, [[place.site, 1, 0, 1]])], days=[[place.site, 1, 0, 1]])
    wrong = [{**copy.deepcopy(good), "id": 10 + n, **change} for n, change in enumerate(WRONG_PARTS)]
    no_fields = {"id": 99}
    response = await place.push(*wrong, no_fields, good)
    assert response.body["accepted"] == [1]
    refused = [*range(10, 10 + len(WRONG_PARTS)), 99]
    assert sorted(one["id"] for one in response.body["refused"]) == refused
    assert {one["code"] for one in response.body["refused"]} == {"invalid"}
    assert (await place.report())["totals"]["views"] == 1


@pytest.mark.rule("S7", "W4")
async def test_refused_or_early_part_is_not_missing_and_one_never_sent_is(place):
    async def missed(*parts):
        assert (await place.push(*parts)).status == 200
        return (await place.world.store.read(accounts.account_by_id(place.account.id))).restored_as_of is not None

    wrong = {**place.part(2), "final": 1}
    assert not await missed(place.part(1), wrong)
    # the day of the first part is too long ago, and the day of the second is in the future
    assert not await missed(place.part(3, day=60), place.part(4, day=-1))
    assert not await missed(place.part(4), {**wrong, "id": 5})
    assert await missed(place.part(7))


@pytest.mark.rule("W4")
async def test_part_older_than_all_reports_is_too_old(place):
    response = await place.push(place.part(4, day=60, days=[[place.site, 1, 0, 1]], final=True))
    assert response.body["refused"] == [{"id": 4, "code": "too_old"}]


@pytest.mark.rule("G8")
@cases(
    "change",
    [
        {"v": 2},
        {"v": "1"},
        {"install": 5},
        {"install": "\x00"},
        {"schema": "1"},
        {"queue": -1},
        {"error": "\x00"},
        {"error": "x" * 1001},
        {"dropped": {"budget": -1}},
        {"dropped": None},
        {"parts": None},
        {"parts": [5]},
        {"parts": [{"id": "1"}]},
        {"parts": [{"id": 1}] * 101},
    ],
)
async def test_push_with_an_invalid_head_changes_nothing(place, change):
    response = await place.push(**change)
    assert (response.status, response.code) == (400, "invalid_request")
    shown = await place.world.call("GET", f"/v1/accounts/{place.account.id}", headers=place.session)
    assert shown.body["account"]["push"] is None


@pytest.mark.parametrize(
    ("report", "kind"),
    [
        ({"error": None}, None),
        ({"error": None, "error_kind": "push"}, None),
        ({"error": "no response", "error_kind": "push"}, "push"),
        ({"error": "push: said by a cron", "error_kind": "cron"}, "cron"),
        ({"error": "no memory", "error_kind": "of a newer worker"}, "cron"),
        # Older Workers do not send the field.
        ({"error": "push: no response (TimeoutError)"}, "push"),
        ({"error": "push: no response (TimeoutError)", "error_kind": None}, "push"),
        ({"error": "cron: Error: D1_ERROR: no such table"}, "cron"),
    ],
)
async def test_cron_error_makes_a_health_check_due_and_a_push_error_does_not(place, report, kind):
    assert (await place.push(**report)).status == 200
    account = await place.world.store.read(accounts.account_by_id(place.account.id))
    assert account.push.error_kind == kind
    assert (account.suspected_at is not None) == (kind == "cron")


@pytest.mark.rule("G8")
async def test_rate_limit_of_pushes_is_per_account(place):
    most = place.world.config.limits.pushes_per_minute
    for _ in range(most):
        assert (await place.push()).status == 200
    refused = await place.push(place.part(1, days=[[place.site, 1, 0, 1]]))
    assert (refused.status, refused.code) == (429, "rate_limited")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert (await place.report())["totals"]["views"] == 0
    other = await place.world.account(await place.world.user(), OTHER_EDGE_ACCOUNT)
    key = new_secret("svcw_")
    await place.world.store.run(worker_keys.add_worker_key(other.id, digest(key), "op_1"))
    theirs = {"Authorization": f"Bearer {key}"}
    assert (await place.world.call("POST", "/edge/push", place.body(), headers=theirs)).status == 200
    place.world.clock.advance_s(60)
    assert (await place.push()).status == 200


@pytest.mark.rule("G8")
@pytest.mark.parametrize(
    "filled",
    [
        '"parts": [' + ", ".join(["[]"] * 400_000) + "]",
        '"parts": [' + ", ".join(["0"] * 400_000) + "]",
        '"dropped": {' + ", ".join(f'"{number}": -1' for number in range(80_000)) + "}",
        '"new": ' + "[" * 400_000,
    ],
    ids=["lists", "items", "fields", "depth"],
)
def test_large_body_that_is_not_a_push_is_refused_early(filled):
    with pytest.raises(Invalid, match="invalid_request") as refused:
        read_push(f'{{"v": 1, {filled}}}'.encode())
    assert refused.value.details == {
        "issues": [{"path": "", "code": "too_much", "message": "has too many fields, lists or items for a push"}]
    }


@pytest.mark.rule("W4")
def test_validation_of_a_part_stops_at_the_first_error():
    """If each row of a large part had an error, reporting all of them would take seconds."""
    hours = [{"at": n * HOUR_MS, "rows": [[]] * 1_000} for n in range(24)]
    part = {
        "id": 1,
        "day": "2026-11-20",
        "as_of": 0,
        "final": False,
        "hours": hours,
        "refused_hours": [],
        "days": [[]] * 1_000,
    }
    with pytest.raises(ValidationError) as wrong:
        TypeAdapter(PushedPart).validate_python(part)
    assert wrong.value.error_count() <= 2 * len(fields(PushedPart))
    assert read_parts((part,)) == ([], [1])


async def test_largest_push_is_accepted(place):
    """The size of a part depends on the number of links. The limits must allow the largest valid part."""
    names = [f"lnk_{number:020}" for number in range(1_900)]
    rows = [[name, 1, 1, 1] for name in names]
    response = await place.push(place.part(1, day=1, days=rows, final=True))
    assert (response.status, len(response.body["unknown_targets"])) == (200, len(names))


async def test_unknown_fields_of_a_newer_worker_are_ignored(place):
    part = {**place.part(hours=[(0, [[place.site, 1, 0, 1]])]), "new": 1}
    assert (await place.push(part, also_new={"a": 1})).body["accepted"] == [1]


@pytest.mark.rule("A15")
async def test_push_ends_state_no_connection(place):
    assert await place.world.store.run(states.move(place.account.id, ("ready",), "no_connection", None, START_MS))
    await place.push()
    shown = await place.world.call("GET", f"/v1/accounts/{place.account.id}", headers=place.session)
    assert shown.body["account"]["state"] == "ready"


# ------------------------------------------------------------------------------------------------ live reports


@pytest.mark.rule("R3")
async def test_breakdowns_are_read_only_on_request(place):
    place.world.supervisor.readable = Live(
        at=place.world.clock(), days={}, hours={}, breakdowns={"pages": {"/": 3, "(other)": 5}}
    )
    assert (await place.report())["breakdowns"] is None
    assert not [what for what in place.world.supervisor.asked if what.startswith("live")]
    report = await place.report(query="?breakdowns=1&period=7d")
    assert report["breakdowns"]["pages"] == [{"key": "(other)", "n": 5}, {"key": "/", "n": 3}]
    assert report["breakdowns"]["os"] == []
    assert place.world.supervisor.asked[-1] == f"live {place.site} {place.today - 6} {place.today}"
    assert report["breakdowns_from"] == report["from"] == day_text(place.today - 6)


@pytest.mark.rule("R3")
async def test_report_has_the_first_day_of_its_breakdowns(place):
    kept_from = place.today - 15
    place.world.supervisor.readable = Live(
        at=place.world.clock(), days={}, hours={}, breakdowns={}, kept_from=kept_from
    )
    for noun in ("site", "link"):
        month = await place.report(noun, "?breakdowns=1&period=30d")
        assert (month["from"], month["breakdowns_from"]) == (day_text(place.today - 29), day_text(kept_from))
        # The link was created today. The deleted breakdowns of earlier days therefore contained no clicks on this link.
        assert len(month["series"]) == 30
        assert (await place.report(noun, "?period=30d"))["breakdowns_from"] is None


@pytest.mark.rule("R5")
@pytest.mark.rule("R6")
@pytest.mark.parametrize("reason", ["not_installed", "cloudflare", "rate_limited"])
async def test_report_without_the_database_has_the_reason_and_the_stored_totals(place, reason):
    rows = [[place.site, 4, 0, 4], [place.link, 6, 1, 6]]
    await place.push(place.part(1, day=1, days=rows, final=True), place.part(2, hours=[(0, rows)], days=rows))
    place.world.supervisor.readable = Unavailable(reason)
    site = await place.report(query="?breakdowns=1")
    assert (site["unavailable"], site["breakdowns"], site["totals"]["views"]) == (reason, None, 4)
    today = await place.report("link")
    assert (today["unavailable"], today["series"], today["as_of"]) == (reason, [], None)
    week = await place.report("link", "?period=7d&breakdowns=1")
    assert (week["unavailable"], week["breakdowns"], week["totals"]["views"]) == (reason, None, 6)


@pytest.mark.rule("R4")
async def test_link_report_reads_today_live_and_final_days_from_the_store(place):
    await place.push(place.part(1, day=1, days=[[place.link, 6, 1, 6]], final=True))
    now = place.world.clock()
    place.world.supervisor.readable = Live(
        at=now - 60_000,
        days={place.today - 1: Counts(99, 99, 99), place.today: Counts(2, 0, 1)},
        hours={place.today * DAY_MS: Counts(2, 0, 1)},
        breakdowns={"sources": {"qr": 2}, "pages": {"": 8}},
    )
    today = await place.report("link")
    assert today["totals"] == {"views": 2, "bots": 0, "visitors": 1}
    assert today["as_of"] == iso(now - 60_000)
    assert today["breakdowns"] is None
    week = await place.report("link", "?period=7d&breakdowns=1")
    assert week["totals"] == {"views": 8, "bots": 1, "visitors": 7}
    assert week["breakdowns"]["pages"] == [{"key": "", "n": 8}]


@pytest.mark.rule("R2", "R5")
async def test_live_site_report_has_the_views_since_the_last_push(place):
    await place.push(place.part(1, day=1, days=[[place.site, 6, 1, 6]], final=True))
    await place.push(place.part(2, hours=[(0, [[place.site, 1, 0, 1]])], days=[[place.site, 1, 0, 1]]))
    await place.world.store.run(_move_creation_back("sites", place.site, DAY_MS))
    read_at = place.world.clock() + 60_000
    place.world.supervisor.readable = Live(
        at=read_at,
        days={place.today - 1: Counts(99, 99, 99), place.today: Counts(5, 2, 3)},
        hours={place.today * DAY_MS: Counts(5, 2, 3)},
        breakdowns={"pages": {"/": 5}},
    )
    place.world.supervisor.asked.clear()
    today = await place.report(query="?live=1")
    assert (today["totals"], today["as_of"]) == ({"views": 5, "bots": 2, "visitors": 3}, iso(read_at))
    assert (today["series"][0]["views"], today["breakdowns"], today["breakdowns_from"]) == (5, None, None)
    week = await place.report(query="?live=1&period=7d")
    assert week["totals"] == {"views": 11, "bots": 3, "visitors": 9}
    # Both reports use the same read, because the numbers of yesterday are final.
    assert set(place.world.supervisor.asked) == {f"live {place.site} {place.today} {place.today}"}
    both = await place.report(query="?live=1&breakdowns=1")
    assert (both["totals"], both["breakdowns"]["pages"]) == (today["totals"], [{"key": "/", "n": 5}])
    assert (await place.report())["totals"]["views"] == 1


@pytest.mark.rule("R2", "R4", "X5")
@pytest.mark.parametrize("noun", ["site", "link"])
async def test_report_has_the_statement_of_its_last_day_on_request(place, noun):
    target = place.site if noun == "site" else place.link
    counts = TargetDay(
        target, Events(3, 1), Events(5, 1), Events(2, 0), Events(3, 1), Events(), Events(3, 1), {"busy": 1}, True
    )
    place.world.supervisor.readable = Live(
        at=place.world.clock(),
        days={place.today: Counts(5, 1, 3)},
        hours={},
        breakdowns={},
        statement=DayStatement(place.today, False, counts),
    )
    assert "statement" not in await place.report(noun)
    place.world.supervisor.asked.clear()
    report = await place.report(noun, "?period=7d&breakdowns=1&statement=1")
    assert len(place.world.supervisor.asked) == 1
    assert report["statement"] == {
        "id": target,
        "accepted": {"views": 5, "bots": 1},
        "dropped": {"busy": 1},
        "waiting": {"views": 2, "bots": 0},
        "counted": {"views": 3, "bots": 1},
        "queued": {"views": 0, "bots": 0},
        "pushed": {"views": 3, "bots": 1},
        "stored": {"views": 3, "bots": 1},
        "agrees": True,
        "fault": None,
        "off_by": None,
        "day": report["to"],
        "closed": False,
    }
    place.world.supervisor.readable = Unavailable("cloudflare")
    report = await place.report(noun, "?statement=1")
    assert (report["unavailable"], report.get("statement")) == ("cloudflare", None)


@pytest.mark.rule("R2")
async def test_live_site_report_prefers_a_push_that_is_newer_than_the_cached_read(place):
    await place.push(place.part(1, hours=[(0, [[place.site, 7, 0, 7]])], days=[[place.site, 7, 0, 7]]))
    stored = await place.report()
    sent_until = (await place.world.store.read(totals.pushed_as_of(place.account.id))) or 0
    place.world.supervisor.readable = Live(
        at=sent_until - 1, days={place.today: Counts(5, 0, 5)}, hours={}, breakdowns={"pages": {"/": 5}}
    )
    assert await place.report(query="?live=1") == stored
    report = await place.report(query="?live=1&breakdowns=1")
    assert (report["totals"]["views"], report["breakdowns"]["pages"]) == (7, [{"key": "/", "n": 5}])


@pytest.mark.rule("R5")
@pytest.mark.parametrize("reason", ["not_installed", "cloudflare", "rate_limited"])
async def test_live_site_report_without_the_database_has_the_stored_hours(place, reason):
    await place.push(place.part(1, hours=[(0, [[place.site, 7, 0, 7]])], days=[[place.site, 7, 0, 7]]))
    place.world.supervisor.readable = Unavailable(reason)
    assert await place.report(query="?live=1") == {**await place.report(), "unavailable": reason}


@pytest.mark.rule("R4", "R6")
async def test_link_reports_without_breakdowns_share_one_live_read(place):
    supervisor, today = place.world.supervisor, place.today
    supervisor.readable = Live(at=place.world.clock(), days={}, hours={}, breakdowns={})
    supervisor.asked.clear()
    for period in ("today", "7d", "30d"):
        assert (await place.report("link", f"?period={period}"))["breakdowns"] is None
    # the link was created today, so only today is read
    assert set(supervisor.asked) == {f"live {place.link} {today} {today}"}
    supervisor.asked.clear()
    await place.report("link", "?period=7d&breakdowns=1")
    assert supervisor.asked == [f"live {place.link} {today - 6} {today}"]


@pytest.mark.rule("R4")
async def test_days_not_pushed_are_read_live_without_breakdowns(place):
    await place.push(place.part(1, day=1, days=[[place.link, 6, 1, 6]], final=True))
    await place.world.store.run(_move_creation_back("links", place.link, 3 * DAY_MS))
    supervisor, today = place.world.supervisor, place.today
    supervisor.readable = Live(
        at=place.world.clock(),
        days={today - 3: Counts(4, 0, 2), today - 1: Counts(99, 99, 99), today: Counts(2, 0, 1)},
        hours={},
        breakdowns={},
    )
    supervisor.asked.clear()
    week = await place.report("link", "?period=7d")
    assert supervisor.asked == [f"live {place.link} {today - 3} {today}"]
    assert week["totals"] == {"views": 12, "bots": 1, "visitors": 9}


def _move_creation_back(table: str, target_id: str, by_ms: int) -> Tx[None]:
    yield sql(f"update {table} set created_at = created_at - $2 where id = $1", target_id, by_ms)


async def test_first_view_is_read_live_until_the_worker_has_pushed_one(place):
    supervisor, now = place.world.supervisor, place.world.clock()

    async def first_view() -> Any:
        path = f"/v1/sites/{place.site}/first-view"
        return (await place.world.call("GET", path, headers=place.session)).body["first_view"]

    expected = {"seen": False, "bots": False, "view": None, "as_of": iso(now), "unavailable": "cloudflare"}
    supervisor.readable = Unavailable("cloudflare")
    assert await first_view() == expected
    supervisor.readable = Live(at=now - 9_000, days={place.today: Counts(0, 2, 0)}, hours={}, breakdowns={})
    assert await first_view() == {**expected, "bots": True, "as_of": iso(now - 9_000), "unavailable": None}
    supervisor.readable = Live(at=now, days={place.today - 1: Counts(1, 0, 1)}, hours={}, breakdowns={})
    assert (await first_view())["seen"]
    one: dict[Dimension, dict[str, int]] = {"pages": {"/": 1}, "countries": {"DE": 1}, "browsers": {"Firefox": 1}}
    supervisor.readable = Live(at=now, days={place.today: Counts(1, 0, 1)}, hours={}, breakdowns=one)
    assert (await first_view())["view"] == {"page": "/", "country": "DE", "browser": "Firefox"}
    two: dict[Dimension, dict[str, int]] = {"pages": {"/": 2}, "countries": {"DE": 2}, "browsers": {"Firefox": 2}}
    supervisor.readable = Live(at=now, days={place.today: Counts(2, 0, 1)}, hours={}, breakdowns=two)
    assert (await first_view())["view"] is None
    supervisor.readable = Unavailable("rate_limited")
    await place.push(place.part(hours=[(0, [[place.site, 1, 0, 1]])]))
    supervisor.asked.clear()
    assert await first_view() == {"seen": True, "bots": False, "view": None, "as_of": iso(now), "unavailable": None}
    assert supervisor.asked == []


@pytest.mark.rule("R1")
@cases("query", ["period=1d", "period=", "breakdowns=0", "breakdowns=true", "period=7d&period=7d", "from=x"])
async def test_invalid_report_query_is_an_invalid_request(place, query):
    for path in (f"/v1/sites/{place.site}/report", f"/v1/links/{place.link}/report"):
        response = await place.world.call("GET", f"{path}?{query}", headers=place.session)
        assert (response.status, response.code) == (400, "invalid_request")

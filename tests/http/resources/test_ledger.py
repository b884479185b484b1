"""GET /v1/accounts/{id}/ledger with various results from the Worker."""

from __future__ import annotations

from typing import Any

import pytest

from svc.actors.requests.ledger import WorkerSide
from svc.clock import day_text
from svc.model import Figure
from svc.store.tx import sql
from svc.worker.ledger import Events, WorkerDay
from tests.http.resources import test_push

place = test_push.place  # an account with a site, a link and a Worker


def counts(views: int, bots: int = 0) -> dict[str, int]:
    return {"views": views, "bots": bots}


async def ledger_of(place: test_push.Place, query: str = "") -> Any:
    response = await place.world.call("GET", f"/v1/accounts/{place.account.id}/ledger{query}", headers=place.session)
    assert response.status == 200, response.raw
    return response.body["ledger"]


@pytest.mark.rule("X5")
async def test_each_target_has_the_workers_numbers_and_the_stored_ones(place):
    link = place.link
    hours = [(0, [[place.site, 5, 1, 4], [link, 2, 0, 2]])]
    await place.push(place.part(hours=hours, days=[[place.site, 5, 1, 4], [link, 2, 0, 2]]))
    place.world.supervisor.worker_side = WorkerSide(
        WorkerDay(
            closed=False,
            since=86_400_000,
            queued_parts=0,
            accepted={place.site: Events(8, 1), link: Events(2, 0), "": Events(1, 0)},
            dropped={place.site: {"busy": Events(1, 0)}, "": {"budget": Events(1, 0), "invalid": Events(3, 0)}},
            waiting={place.site: Events(2, 0)},
            folded={place.site: Events(5, 1), link: Events(2, 0)},
            queued={place.site: Events(5, 1)},
            pushed={place.site: Events(5, 1), link: Events(1, 0)},
        ),
        requests=Figure(place.today, 1450, 1400, 1500),
    )
    shown = await ledger_of(place)
    by_id = {target.pop("id"): target for target in shown.pop("targets")}
    assert shown == {
        "day": day_text(place.today),
        "since": "1970-01-02T00:00:00.000Z",
        "closed": False,
        "queued_parts": 0,
        "dropped": {"busy": 1, "budget": 1, "invalid": 3},
        "agrees": False,
        "platform_requests": {"estimate": 1450, "at_least": 1400, "at_most": 1500},
        "unavailable": None,
    }
    assert by_id == {
        place.site: {
            "accepted": counts(8, 1),
            "dropped": {"busy": 1},
            "waiting": counts(2),
            "counted": counts(5, 1),
            "queued": counts(5, 1),
            "pushed": counts(5, 1),
            "stored": counts(5, 1),
            "agrees": True,
            "fault": None,
            "off_by": None,
        },
        link: {
            "accepted": counts(2),
            "dropped": {},
            "waiting": counts(0),
            "counted": counts(2),
            "queued": counts(0),
            "pushed": counts(1),
            "stored": counts(2),
            "agrees": False,
            "fault": "store",
            "off_by": counts(1),
        },
    }


@pytest.mark.rule("X5", "R5")
async def test_without_the_workers_numbers_the_stored_ones_and_the_reason_are_shown(place):
    await place.push(place.part(day=1, days=[[place.site, 5, 1, 4]], final=True))
    await place.world.store.run(_imported(place.link, place.today - 1))
    for reason in ("not_installed", "cloudflare", "rate_limited", "not_kept", "not_counted"):
        place.world.supervisor.worker_side = WorkerSide(None, reason)
        shown = await ledger_of(place, f"?day={day_text(place.today - 1)}")
        [target] = shown["targets"]
        assert (target["id"], target["stored"], target["agrees"]) == (place.site, counts(5, 1), None)
        assert target["accepted"] is target["dropped"] is target["fault"] is None
        assert (shown["unavailable"], shown["agrees"], shown["dropped"]) == (reason, None, None)


async def test_disconnected_account_has_the_stored_numbers(place):
    await place.push(place.part(days=[[place.site, 5, 1, 4]], hours=[(0, [[place.site, 5, 1, 4]])]))
    gone = await place.world.call("DELETE", f"/v1/accounts/{place.account.id}", headers=place.session)
    assert gone.status in (200, 202), gone.raw
    asked = len(place.world.supervisor.asked)
    shown = await ledger_of(place)
    assert (shown["unavailable"], [target["stored"] for target in shown["targets"]]) == (
        "not_installed",
        [counts(5, 1)],
    )
    assert len(place.world.supervisor.asked) == asked


async def test_invalid_or_future_day_is_refused(place):
    tomorrow = day_text(place.today + 1)
    for day in (tomorrow, "20261121", "2026-W47-6", "2026-11-31", "2026-11-21Z", "today", ""):
        path = f"/v1/accounts/{place.account.id}/ledger?day={day}"
        refused = await place.world.call("GET", path, headers=place.session)
        assert (refused.status, refused.code) == (400, "invalid_request"), day
        assert refused.body["error"]["details"]["issues"][0]["path"] == "day"


@pytest.mark.rule("C3", "C4")
async def test_ledger_of_another_users_account_is_not_found(place):
    other = await place.world.session(await place.world.user())
    path = f"/v1/accounts/{place.account.id}/ledger"
    assert (await place.world.call("GET", path, headers=other)).code == "not_found"


def _imported(target: str, day: int):
    yield sql(
        "insert into days (target, day, views, bots, visitors, as_of, final, imported)"
        " values ($1, $2, 9, 0, 9, 0, 1, 1)",
        target,
        day,
    )

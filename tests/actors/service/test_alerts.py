"""Alerts reach each confirmed recipient once, and only if the counts are complete."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import pytest
import trio

from svc.actors.context import Context
from svc.actors.service.alerts import Alerts
from svc.clock import DAY_MS, HOUR_MS
from svc.config import Config
from svc.edge.visits import PAGE_USER_AGENT, Answer, NoAnswer, Visitor
from svc.errors import StoreUnavailable
from svc.store import sites
from svc.store.tx import sql, to_json
from tests.actors.service.test_mailings import Away
from tests.clock import FrozenClock
from tests.store.makers import a_mailing, owner_of
from tests.store.mortal import Killed, Mortal
from tests.store.watched import ANN, BOB, NOON, a_watched_site, an_active_account, an_old_site, pushed, with_alerts

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx
    from tests.conftest import ExpectedErrors

pytestmark = [pytest.mark.rule("Y15"), pytest.mark.both_engines]

PAGE = Answer(200, "", "", through_cloudflare=True, is_challenge=False, body=b"<p>/ab3/x9k/k3f.js</p>", is_whole=True)


@dataclass(frozen=True)
class Page(Visitor):
    """A fake visitor that returns the same result for every request. `asked`: the host and path of each request."""

    result: Answer | NoAnswer = PAGE
    asked: list[tuple[str, str]] = field(default_factory=list)

    async def get(self, host: str, path: str, **more: Any) -> Answer | NoAnswer:
        assert (self.user_agent, self.body_bytes > 0) == (PAGE_USER_AGENT, True)
        assert more == {}
        self.asked.append((host, path))
        await trio.lowlevel.checkpoint()
        return self.result


def service(store: Any, page: Visitor | None = None, now: int = NOON + DAY_MS) -> Alerts:
    none = cast("Any", None)
    return Alerts(
        Context(
            store=store, edge=none, vault=none, config=Config(), clock=FrozenClock(now), bundle=none, push_url="",
            visitor=page or Page(),
        )
    )  # fmt: skip


def queued() -> Tx[list[tuple[str, dict[str, Any]]]]:
    rows = yield sql("select address, facts from outbox where kind = 'alert' order by created_at, address, id")
    return [(row["address"], json.loads(row["facts"])["alert"]) for row in rows]


async def kinds(store: Store) -> list[tuple[str, str]]:
    return [(address, alert["kind"]) for address, alert in await store.read(queued())]


async def checked_at_noon(store: Store) -> tuple[str, str]:
    """Add a site with 100 views per hour, and check the hours until noon. Return the account id and the site id."""
    found = await store.run(a_watched_site())
    await service(store).check_due()
    return found


async def hours_pushed(store: Store, account_id: str, site_id: str, *counts: int, **more: Any) -> None:
    """Push hours one after the other, and check each hour after its push."""
    for number, count in enumerate(counts):
        at = NOON + number * HOUR_MS
        await store.run(pushed(account_id, at + HOUR_MS, *([(site_id, at, count)] if count else [])))
        await service(store, **more).check_due()


async def test_spike_is_queued_once_for_each_confirmed_recipient(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await hours_pushed(store, account_id, site_id, 2_000, 2_000)
    await service(store).check_due()
    host = (await store.read(sites.get_site(await store.read(owner_of(account_id)), site_id))).host  # type: ignore[union-attr]
    assert await store.read(queued()) == [
        (
            address,
            {
                "kind": "spike", "site": site_id, "host": host, "first": NOON, "hours": 1, "views": 2_000, "usual": 100,
            },
        )
        for address in (ANN, BOB)
    ]  # fmt: skip


async def test_silence_is_queued_with_the_result_of_one_request(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    page = Page()
    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, 0, page=page)
    found = await store.read(queued())
    assert [(address, alert["kind"], alert["hours"], alert["snippet"]) for address, alert in found] == [
        (ANN, "silence", 3, "present"),
        (BOB, "silence", 3, "present"),
    ]
    assert page.asked == [(found[0][1]["host"], "/")]


@pytest.mark.parametrize(
    ("result", "snippet"),
    [
        (PAGE, "present"),
        (Answer(200, "", "", True, False, b"<p></p>", True), "absent"),
        (NoAnswer("not_http"), "unread"),
    ],
)
async def test_result_of_the_request_is_in_the_alert(store: Store, result: Answer | NoAnswer, snippet: str) -> None:
    account_id, site_id = await checked_at_noon(store)
    await hours_pushed(store, account_id, site_id, 0, 0, 0, page=Page(result=result))
    assert {alert["snippet"] for _, alert in await store.read(queued())} == {snippet}


async def test_old_snippet_that_is_still_counted_is_found(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(_old_path(site_id))
    body = b'<script src="/old/path/k3f.js">'
    await hours_pushed(
        store, account_id, site_id, 0, 0, 0, page=Page(result=Answer(200, "", "", True, False, body, True))
    )
    assert {alert["snippet"] for _, alert in await store.read(queued())} == {"present"}


def _old_path(site_id: str) -> Tx[None]:
    yield sql(
        "insert into retiring_paths (site_id, path, route_id, until) values ($1, '/old/path', 'route', $2)",
        site_id,
        NOON + DAY_MS,
    )


async def test_drop_requests_no_page(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    page = Page()
    await hours_pushed(store, account_id, site_id, 5, 5, 5, 5, page=page)
    assert await kinds(store) == [(ANN, "drop"), (BOB, "drop")]
    assert page.asked == []


async def test_alert_needs_a_confirmed_recipient_and_requests_no_page_without_one(store: Store) -> None:
    account_id = await store.run(an_active_account())
    site_id = await store.run(an_old_site(account_id))
    await store.run(pushed(account_id, NOON))
    await store.run(with_alerts(account_id, site_id, confirmed=False))
    await service(store).check_due()
    page = Page()
    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, page=page)
    assert (await store.read(queued()), page.asked) == ([], [])


async def test_alerts_of_an_account_concern_all_its_sites_and_each_address_gets_one(store: Store) -> None:
    account_id = await store.run(an_active_account())
    first = await store.run(an_old_site(account_id, "a.example.com"))
    second = await store.run(an_old_site(account_id, "b.example.com"))
    await store.run(pushed(account_id, NOON))
    await store.run(with_alerts(account_id, account_id, "account", [ANN, "cy@example.org"]))
    await store.run(with_alerts(account_id, second, recipients=[BOB, ANN]))
    await service(store).check_due()
    await store.run(pushed(account_id, NOON + HOUR_MS, (first, NOON, 2_000), (second, NOON, 3_000)))
    await service(store).check_due()
    found = sorted((alert["views"], address) for address, alert in await store.read(queued()))
    assert found == [
        (2_000, ANN), (2_000, "cy@example.org"), (3_000, ANN), (3_000, BOB), (3_000, "cy@example.org"),
    ]  # fmt: skip


async def test_hours_before_alerts_were_turned_on_raise_no_alert(store: Store) -> None:
    account_id = await store.run(an_active_account())
    site_id = await store.run(an_old_site(account_id))
    await store.run(pushed(account_id, NOON))
    await store.run(with_alerts(account_id, site_id))
    await service(store).check_due()
    await store.run(a_mailing(account_id, site_id, recipients=[ANN], weekly=False, monthly=False))
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 5_000)))
    await store.run(with_alerts(account_id, site_id))
    await service(store).check_due()
    assert await store.read(queued()) == []
    await store.run(pushed(account_id, NOON + 2 * HOUR_MS, (site_id, NOON + HOUR_MS, 5_000)))
    await service(store).check_due()
    assert [alert["first"] for _, alert in await store.read(queued())] == [NOON + HOUR_MS] * 2


async def test_missing_pushes_are_not_silence_and_several_hours_at_once_are_only_searched_for_spikes(
    store: Store,
) -> None:
    account_id, site_id = await checked_at_noon(store)
    for _ in range(3):
        await service(store, now=NOON + 12 * HOUR_MS).check_due()
    assert await store.read(queued()) == []
    # The Worker was down for ten hours, and then pushes all hours.
    await store.run(pushed(account_id, NOON + 10 * HOUR_MS, (site_id, NOON, 4_000)))
    await service(store).check_due()
    assert await kinds(store) == [(ANN, "spike"), (BOB, "spike")]
    await store.run(sql_tx("delete from outbox"))
    # The hours without pushes must not count as part of a later silence.
    for until in (11, 12):
        await store.run(pushed(account_id, NOON + until * HOUR_MS))
        await service(store).check_due()
    assert await store.read(queued()) == []
    await store.run(pushed(account_id, NOON + 13 * HOUR_MS))
    await service(store).check_due()
    assert {(alert["kind"], alert["first"]) for _, alert in await store.read(queued())} == {
        ("silence", NOON + 10 * HOUR_MS)
    }


def sql_tx(text: str, *parameters: Any) -> Tx[None]:
    yield sql(text, *parameters)


PROBLEMS = {
    "disabled site": ("update sites set disabled_at = 1, disabled_reason = 'x' where id = $1", "site"),
    "deleted site": ("update sites set state = 'deleted' where id = $1", "site"),
    "route": ("update sites set state = 'route_conflict' where id = $1", "site"),
    "site error": ("""update sites set error = '{"code": "route_conflict", "message": "m"}' where id = $1""", "site"),
    "site not synced": ("update sites set version = 1001 where id = $1", "site"),
    "warning": (
        """update sites set warnings = '[{"code": "dns_not_proxied", "message": "m"}]' where id = $1""",
        "site",
    ),
    "broken account": ("update accounts set state = 'revoked' where id = $1", "account"),
    "silent Worker": ("update accounts set state = 'no_connection' where id = $1", "account"),
    "stopped cron": ("""update accounts set warnings = '["crons_stopped"]' where id = $1""", "account"),
    "restored store": ("update accounts set restored_as_of = 1 where id = $1", "account"),
    "failing cron": (
        """update accounts set push = '{"at": 1, "bundle": "b", "error": "e", "error_kind": "cron"}' where id = $1""",
        "account",
    ),
    "disabled user": (
        "update users set disabled_at = 1 where id = (select user_id from accounts where id = $1)",
        "account",
    ),
}


@pytest.mark.parametrize("problem", PROBLEMS)
async def test_site_with_a_problem_has_no_alerts(store: Store, problem: str) -> None:
    account_id, site_id = await checked_at_noon(store)
    text, kind = PROBLEMS[problem]
    await store.run(sql_tx(text, site_id if kind == "site" else account_id))
    page = Page()
    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, 5_000, page=page)
    assert (await store.read(queued()), page.asked) == ([], [])


async def test_hours_with_a_problem_are_not_part_of_a_later_silence(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(sql_tx("update accounts set state = 'revoked' where id = $1", account_id))
    await hours_pushed(store, account_id, site_id, 0, 0, 0)
    await store.run(sql_tx("update accounts set state = 'ready' where id = $1", account_id))
    for until in (4, 5):
        await store.run(pushed(account_id, NOON + until * HOUR_MS))
        await service(store).check_due()
    assert await store.read(queued()) == []


@pytest.mark.parametrize("column", ["created_at", "first_view_at", "live_at"])
async def test_site_that_is_young_or_was_changed_has_no_alerts_for_five_weeks(store: Store, column: str) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(sql_tx(f"update sites set {column} = $2 where id = $1", site_id, NOON - 34 * DAY_MS))
    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, 5_000)
    assert await store.read(queued()) == []


async def test_site_whose_old_hours_were_deleted_has_no_alerts(store: Store) -> None:
    """If the host's clock was a month ahead, the service has deleted hours too early. The store then does not show
    whether these hours had views.
    """
    account_id, site_id = await checked_at_noon(store)
    await store.run(sql_tx("delete from hours where at < $1", NOON - 20 * DAY_MS))
    await hours_pushed(store, account_id, site_id, 400, 0, 0, 0)
    assert await store.read(queued()) == []


async def test_imported_days_change_nothing(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    imported = (
        "insert into days (target, day, views, bots, visitors, as_of, final, imported, estimated)"
        " values ($1, $2, 1000000, 0, 0, 0, 1, 1, 1)"
    )
    for day in range(1, 200):
        await store.run(sql_tx(imported, site_id, NOON // DAY_MS - day))
    await hours_pushed(store, account_id, site_id, 100, 100, 100, 100)
    assert await store.read(queued()) == []


async def test_refused_hours_are_unknown(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    for hour in range(4):
        refused = "insert into refused_hours (account_id, at) values ($1, $2)"
        await store.run(sql_tx(refused, account_id, NOON + hour * HOUR_MS))
    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, 0, 0)
    assert await store.read(queued()) == []


async def test_hour_is_checked_once_all_parts_of_the_push_have_arrived(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    waiting = to_json({"at": 1, "bundle": "b", "queue": 1})
    await store.run(sql_tx("update accounts set push = $2 where id = $1", account_id, waiting))
    await store.run(pushed(account_id, NOON + HOUR_MS))
    await service(store).check_due()
    await store.run(
        sql_tx("update accounts set push = $2 where id = $1", account_id, to_json({"at": 1, "bundle": "b"}))
    )
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 2_000)))
    await service(store).check_due()
    assert await kinds(store) == [(ANN, "spike"), (BOB, "spike")]


async def test_at_most_two_alerts_a_day_reach_a_recipient(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await hours_pushed(store, account_id, site_id, *[0, 0, 0, 100, 100] * 2, 100, 0)
    assert [kind for address, kind in await kinds(store) if address == ANN] == ["silence", "silence"]


@pytest.mark.parametrize("after", [False, True])
async def test_kill_at_every_step_neither_loses_nor_repeats_an_alert(store: Store, after: bool) -> None:
    step = 0
    killed = True
    while killed:
        step += 1
        await store.run(sql_tx("delete from mailings"))
        await store.run(sql_tx("delete from outbox"))
        account_id, site_id = await checked_at_noon(store)
        await hours_pushed(store, account_id, site_id, 0, 0)
        await store.run(pushed(account_id, NOON + 3 * HOUR_MS))
        killed = False
        try:
            await service(Mortal(store, step, after=after)).check_due()
        except* Killed:
            killed = True
        await service(store).check_due()
        assert await kinds(store) == [(ANN, "silence"), (BOB, "silence")], step
        assert step < 20
    assert step > 6


async def test_two_services_send_an_alert_once(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 2_000)))
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(service(store).check_due)
    assert await kinds(store) == [(ANN, "spike"), (BOB, "spike")]


async def test_late_service_does_not_repeat_the_alert_of_another_one(store: Store) -> None:
    """A slow service reads the hours to check, and stores its result after another service has checked a newer push."""
    account_id, site_id = await checked_at_noon(store)
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 2_000)))

    class Late(Mortal):
        async def run(self, tx: Tx[Any]) -> Any:
            await store.run(pushed(account_id, NOON + 2 * HOUR_MS, (site_id, NOON + HOUR_MS, 2_000)))
            await service(store).check_due()
            return await store.run(tx)

    class Once(Late):
        async def run(self, tx: Tx[Any]) -> Any:
            if self._remaining < 0:
                return await store.run(tx)
            self._remaining = -1
            return await Late.run(self, tx)

    await service(Once(store, 1_000, after=False)).check_due()
    assert await kinds(store) == [(ANN, "spike"), (BOB, "spike")]


async def test_jumps_of_the_clock_neither_lose_nor_repeat_an_alert(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 2_000)))
    for days in (-400, 0, 400, -10, 0):
        await service(store, now=NOON + days * DAY_MS).check_due()
    assert await kinds(store) == [(ANN, "spike"), (BOB, "spike")]


async def test_unavailable_store_only_delays_an_alert(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)
    await store.run(pushed(account_id, NOON + HOUR_MS, (site_id, NOON, 2_000)))
    with pytest.raises(StoreUnavailable):
        await service(Away(store)).check_due()
    assert await store.read(queued()) == []
    await service(store).check_due()
    assert len(await store.read(queued())) == 2


async def test_failure_of_one_site_does_not_delay_others(store: Store, expected_errors: ExpectedErrors) -> None:
    expected_errors.allow("alert failed: KeyError")
    broken, good = [await checked_at_noon(store) for _ in range(2)]

    class Failing(Page):
        async def get(self, host: str, path: str, **more: Any) -> Answer | NoAnswer:
            if host == f"s{broken[0][-6:]}.example.com":
                raise KeyError(host)
            return await super().get(host, path, **more)

    for until in (1, 2, 3):
        for account_id, _ in (broken, good):
            await store.run(pushed(account_id, NOON + until * HOUR_MS))
        await service(store, Failing()).check_due()
    assert {alert["site"] for _, alert in await store.read(queued())} == {good[1]}


async def test_site_is_deleted_while_its_page_is_requested(store: Store) -> None:
    account_id, site_id = await checked_at_noon(store)

    class Deleting(Page):
        async def get(self, host: str, path: str, **more: Any) -> Answer | NoAnswer:
            await store.run(sites.delete_site(account_id, site_id))
            return await super().get(host, path, **more)

    await hours_pushed(store, account_id, site_id, 0, 0, 0, 0, page=Deleting())
    assert await store.read(queued()) == []

"""Tests that a service becomes consistent with its Workers again after it was started on an older copy of its store."""

from __future__ import annotations

import json
import sqlite3
from contextlib import asynccontextmanager, closing

import pytest

from edge_worker.harness.service import eventually
from svc.actors.sync import recovery
from svc.clock import DAY_MS, HOUR_MS, day_of, day_text, system_clock
from svc.ids import digest
from svc.model import Counts, WorkerPush, WorkerSettings
from svc.store import open_store, pushes, syncs, totals, worker_keys
from svc.worker.pushed import PushedPart
from tests.actors.conftest import Place
from tests.clock import FrozenClock
from tests.databases import sqlite_config


class Worker:
    """The customer's own access to the Worker's database."""

    def __init__(self, service, database_id):
        self._service = service
        self._path = f"/accounts/{service.customer.account_id}/d1/database/{database_id}/query"
        self._token = ""

    async def sql(self, text, *parameters):
        """Run a statement and return its rows."""
        if not self._token:
            customer = self._service.customer.account_id
            _, self._token = await self._service.emulator.create_token(customer, rights=["D1 Write"])
        body = {"sql": text, "params": list(parameters)}
        response = await self._service.as_platform("POST", self._path, self._token, json=body)
        return response.json()["result"][0]["results"]

    async def links(self):
        """Return the codes of the links that the Worker knows."""
        rows = await self.sql("select key from config where key like 'link:%' and body is not null")
        return {row["key"][5:] for row in rows}

    async def set_state(self, **state):
        """Overwrite the state of the Worker's cron job."""
        await self.sql("update meta set value = ? where key = 'state'", json.dumps(state))


pytestmark = pytest.mark.usefixtures("every_state_is_logged")


@pytest.fixture
async def original(emulator, customer, tmp_path):
    """The place in which the service first ran."""
    (tmp_path / "first").mkdir()
    async with open_store(sqlite_config(tmp_path / "first")) as store:
        yield Place(store, FrozenClock(system_clock()), emulator, customer, tmp_path)


@asynccontextmanager
async def restored(place, copy):
    """Run a service on this copy of the store."""
    folder = copy.parent
    async with open_store(sqlite_config(folder)) as store:
        again = Place(store, place.clock, place.emulator, place.customer, place.folder)
        again.edge, again.timing, again._owner = place.edge, place.timing, place._owner
        async with again.running() as service:
            yield service


def copy_of(tmp_path):
    """Make a backup of the store for the second service."""
    config = sqlite_config(tmp_path / "first")
    name = config.url.get_secret_value().rpartition("/")[2]
    (tmp_path / "second").mkdir()
    copy = tmp_path / "second" / name
    with closing(sqlite3.connect(tmp_path / "first" / name)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


async def add_link(service, code):
    account_id = (await service.account()).id
    body = {"account_id": account_id, "code": code, "url": f"https://example.org/{code}"}
    response = await service.call("POST", "/v1/links", body)
    assert response.status == 201, response.raw
    await eventually(lambda: nothing_to_sync(service))
    return response.body["link"]["id"]


async def nothing_to_sync(service):
    account = await service.account()
    return account.synced_version == account.config_version or None


@pytest.mark.rule("S7", "A13", "W3")
@pytest.mark.parametrize("upgraded", [False, True])
async def test_restored_service_and_its_worker_converge(original, tmp_path, zone, upgraded):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        kept = await add_link(service, "kept")
        copy = copy_of(tmp_path)
    if upgraded:
        original.upgrade()
    async with original.running() as service:
        original.clock.advance_s(1800)
        await add_link(service, "lost")
        assert (await service.call("POST", f"/v1/accounts/{account_id}/install")).status == 202
        await service.settled("ready")
        await service.confirmed()
        lost = await service.account()
        worker = Worker(service, lost.database_id)
        assert await worker.links() == {"kept", "lost"}
        # The Worker has counts for the previous hour and for the previous day.
        now = original.clock()
        hour_at = now // HOUR_MS * HOUR_MS - HOUR_MS
        day, hour = day_of(hour_at), hour_at % DAY_MS // HOUR_MS
        closed = {"views": 5, "bots": {"list": 2, "head": 1}, "visitors": 3}
        await worker.sql("insert into day values (?, cast(? as integer), ?)", kept, str(day - 1), json.dumps(closed))
        opened = json.dumps({"views": 4, "bots": {}})
        await worker.sql("insert into day values (?, cast(? as integer), ?)", kept, str(day), opened)
        await worker.sql(
            "insert into hour values (?, cast(? as integer), cast(? as integer), 4, 0, ?)",
            kept, str(day), str(hour), '["aaaaaaaa","bbbbbbbb","aaaaaaaa"]',
        )  # fmt: skip
        push = {"tried": lost.install_id, "next_at": now + HOUR_MS - 1}
        await worker.set_state(day=day - 1, as_of=hour_at + HOUR_MS, push=push)

    original.timing |= {"health_every_s": 0.2}
    async with restored(original, copy) as service:

        async def together():
            account = await service.account()
            reinstalled = account.state == "ready" and account.install_id != before
            return (reinstalled and account.asked_version > lost.asked_version) or None

        before = (await service.account()).install_id
        worker = Worker(service, lost.database_id)
        await eventually(together)
        await eventually(lambda: nothing_to_sync(service))
        assert await worker.links() == {"kept"}
        account = await service.account()
        script = (await service.held())["scripts"]["svc-edge"]
        [active] = [one for one in script["versions"] if one["id"] == script["active_version_id"]]
        bindings = {binding["name"]: binding.get("text") for binding in active["bindings"]}
        assert bindings["INSTALL"] == account.install_id
        assert (account.state, account.error) == ("ready", None)
        counts = await service.store.read(totals.day_counts(kept, day - 1, day))
        assert counts == {
            day - 1: (Counts(5, 3, 3), day * DAY_MS, True),
            day: (Counts(4, 0, 2), hour_at + HOUR_MS, False),
        }
        hours = await service.store.read(totals.hour_counts(kept, hour_at, hour_at + HOUR_MS))
        assert hours == [(hour_at, Counts(4, 0, 2))]
        # New links also reach the Worker.
        await add_link(service, "fresh")
        assert await worker.links() == {"kept", "fresh"}


@pytest.mark.rule("X17", "W3")
async def test_no_total_is_lost_if_only_totals_were_added_after_the_backup(original, tmp_path, zone):
    now = original.clock()
    today = day_of(now)
    yesterday = today - 1
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        link_id = await add_link(service, "kept")
        # The backup has all hours of yesterday, but not the day's final part with late events.
        part = PushedPart(1, yesterday, today * DAY_MS, False, (), (), ((link_id, 5, 0, 3),))
        await service.store.run(totals.ingest(account_id, [part], now))
        copy = copy_of(tmp_path)
        worker = Worker(service, (await service.account()).database_id)
        closed = json.dumps({"views": 7, "bots": {"head": 1}, "visitors": 4})
        await worker.sql("insert into day values (?, cast(? as integer), ?)", link_id, str(yesterday), closed)
        await worker.set_state(day=yesterday, as_of=today * DAY_MS)
    async with open_store(sqlite_config(copy.parent)) as store:
        await store.run(syncs.mark_restored(now))
        await store.run(syncs.mark_restored(now + 1))  # the operator restores the backup again
        # The Worker pushes before the service has read the Worker's totals.
        part = PushedPart(9, today, now // HOUR_MS * HOUR_MS, False, (), (), ((link_id, 1, 0, 1),))
        await store.run(totals.ingest(account_id, [part], now))
    original.timing |= {"commands_every_s": 0.2}
    async with restored(original, copy) as service:

        async def caught_up():
            return (await service.account()).restored_as_of is None or None

        await eventually(caught_up)
        await eventually(lambda: nothing_to_sync(service))
        counts = await service.store.read(totals.day_counts(link_id, yesterday, today))
        assert counts == {
            yesterday: (Counts(7, 1, 4), today * DAY_MS, True),
            today: (Counts(1, 0, 1), now // HOUR_MS * HOUR_MS, False),
        }
        assert await worker_versions(service) == {(await service.account()).config_version}
        # The operator may restore the store with other tools, and run `svc store recovered` while the service runs.
        before = (await service.account()).config_version
        assert await service.store.run(syncs.mark_restored(now)) == 1
        await eventually(caught_up)
        assert (await service.account()).config_version > before


@pytest.mark.rule("S7", "X17", "W3")
async def test_service_that_lost_only_a_push_reads_it_back_automatically(original, tmp_path, zone):
    now = original.clock()
    today = day_of(now)
    headers = {"Authorization": "Bearer svcw_mine", "Content-Type": "application/json"}

    def push(number, day, row):
        part = {"id": number, "day": day_text(day), "as_of": (day + 1) * DAY_MS, "final": True, "hours": [],
                "refused_hours": [], "days": [row]}  # fmt: skip
        return {"v": 1, "install": "", "bundle": "b", "schema": 1, "sent_at": now, "queue": 1, "error": None,
                "dropped": {}, "parts": [part]}  # fmt: skip

    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        link_id = await add_link(service, "kept")
        await service.store.run(worker_keys.add_worker_key(account_id, digest("svcw_mine"), "op_1"))
        worker = Worker(service, (await service.account()).database_id)
        for ago, views in ((3, 3), (2, 4), (1, 5)):
            stored = json.dumps({"views": views, "bots": {}, "visitors": 1})
            await worker.sql("insert into day values (?, cast(? as integer), ?)", link_id, str(today - ago), stored)
        await worker.set_state(day=today - 1, as_of=today * DAY_MS)
        first = push(1, today - 3, [link_id, 3, 0, 1])
        assert (await service.world.call("POST", "/edge/push", first, headers=headers)).body["accepted"] == [1]
        copy = copy_of(tmp_path)
        lost = push(2, today - 2, [link_id, 4, 0, 1])
        assert (await service.world.call("POST", "/edge/push", lost, headers=headers)).body["accepted"] == [2]
    async with restored(original, copy) as service:
        before = (await service.account()).config_version
        last = push(3, today - 1, [link_id, 5, 0, 1])
        assert (await service.world.call("POST", "/edge/push", last, headers=headers)).body["accepted"] == [3]

        async def caught_up():
            account = await service.account()
            return (account.config_version > before and account.restored_as_of is None) or None

        await eventually(caught_up)
        counts = await service.store.read(totals.day_counts(link_id, today - 3, today))
        assert {day: found[0].views for day, found in counts.items()} == {today - 3: 3, today - 2: 4, today - 1: 5}


@pytest.mark.rule("S7", "W3")
async def test_day_deleted_during_the_read_is_not_marked_as_final(original, zone):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        read, unread = await add_link(service, "read"), await add_link(service, "unread")
        account = await service.account()
        today = day_of(original.clock())
        worker = Worker(service, account.database_id)
        stored = json.dumps({"views": 3, "bots": {}, "visitors": 1})
        for link_id, ago in ((read, 16), (read, 15), (unread, 15)):
            await worker.sql("insert into day values (?, cast(? as integer), ?)", link_id, str(today - ago), stored)
        access = service.context.access(account)
        await worker.set_state(day=today - 1, as_of=today * DAY_MS)
        before = await recovery.read_meta(access, account.database_id)
        # Between two reads by the service, a cron run deletes the other rows of the day.
        await worker.set_state(day=today - 1, as_of=today * DAY_MS, kept_from=today - 15)
        await recovery.catch_up(service.context, access, account, account.database_id, before)
        assert await service.store.read(totals.final_days(account_id, today - 20, today)) == {today - 15, today - 1}
        counts = await service.store.read(totals.day_counts(read, today - 16, today))
        assert {day: (found.views, whole) for day, (found, _, whole) in counts.items()} == {
            today - 16: (3, False),
            today - 15: (3, True),
        }


@pytest.mark.rule("S7", "X17", "W3")
async def test_push_at_the_start_of_a_recovery_does_not_hide_lost_totals(original, tmp_path, zone):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        link_id = await add_link(service, "kept")
        now = original.clock()
        today = day_of(now)
        worker = Worker(service, (await service.account()).database_id)
        for ago in (3, 2, 1):
            stored = json.dumps({"views": ago, "bots": {}, "visitors": 1})
            await worker.sql("insert into day values (?, cast(? as integer), ?)", link_id, str(today - ago), stored)
        await worker.set_state(day=today - 1, as_of=today * DAY_MS)

        async def arrives(number, day):
            row = ((link_id, today - day, 0, 1),)
            part = PushedPart(number, day, (day + 1) * DAY_MS, True, (), (), row)
            report = WorkerPush(now, "b", 1, 0, None, {}, "")
            # This store does not notify the service, which would start another recovery.
            async with open_store(sqlite_config(tmp_path / "first")) as store:
                await store.run(pushes.record_pushes([(account_id, report)], {account_id: (number, number)}))
                await store.run(totals.ingest(account_id, [part], now))

        await arrives(1, today - 3)
        account = await service.account()
        access = service.context.access(account)
        meta = await recovery.read_meta(access, account.database_id)
        await arrives(3, today - 1)
        await recovery.catch_up(service.context, access, account, account.database_id, meta)
        counts = await service.store.read(totals.day_counts(link_id, today - 3, today))
        assert {day: found[0].views for day, found in counts.items()} == {today - 3: 3, today - 2: 2, today - 1: 1}
        assert (await service.account()).restored_as_of is None


@pytest.mark.rule("S7", "W3")
async def test_closed_days_without_events_are_marked_as_final(original):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        account = await service.account()
        today = day_of(original.clock())
        worker = Worker(service, account.database_id)
        since = (today - 5) * DAY_MS + HOUR_MS
        await worker.set_state(day=today - 2, as_of=today * DAY_MS, since=since)
        access = service.context.access(account)
        meta = await recovery.read_meta(access, account.database_id)
        await recovery.catch_up(service.context, access, account, account.database_id, meta)
        final = await service.store.read(totals.final_days(account_id, today - 20, today))
        assert final == set(range(today - 5, today - 1))


async def worker_versions(service):
    worker = Worker(service, (await service.account()).database_id)
    return {int(row["version"]) for row in await worker.sql("select version from config where body is not null")}


@pytest.mark.rule("S7")
@pytest.mark.parametrize("forged", ['{"views": -1}', "no JSON"])
async def test_foreign_rows_do_not_block_the_sync_of_a_restored_service(original, tmp_path, zone, forged):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        kept = await add_link(service, "kept")
        copy = copy_of(tmp_path)
    async with original.running() as service:
        await add_link(service, "lost")
        worker = Worker(service, (await service.account()).database_id)
        today = str(day_of(original.clock()))
        await worker.sql("insert into day values (?, cast(? as integer), ?)", kept, today, forged)
    async with restored(original, copy) as service:
        await add_link(service, "fresh")
        assert await Worker(service, (await service.account()).database_id).links() == {"kept", "fresh"}


@pytest.mark.rule("S7", "W5")
@pytest.mark.parametrize("before", [None, 14], ids=["never changed", "changed"])
async def test_retention_of_a_restored_store_replaces_the_workers(original, tmp_path, zone, before):
    async with original.running() as service:
        account_id = await service.ready()
        await service.confirmed()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        await service.call("PATCH", f"/v1/accounts/{account_id}", {"days_kept": before})
        await eventually(lambda: nothing_to_sync(service))
        copy = copy_of(tmp_path)
    async with original.running() as service:
        await service.call("PATCH", f"/v1/accounts/{account_id}", {"days_kept": 20})
        await eventually(lambda: nothing_to_sync(service))
        ahead = (await service.account()).config_version
    async with open_store(sqlite_config(copy.parent)) as store:
        await store.run(syncs.mark_restored(original.clock()))
    async with restored(original, copy) as service:

        async def together():
            account = await service.account()
            return (account.config_version > ahead and account.synced_version == account.config_version) or None

        await eventually(together)
        account = await service.account()
        version = account.config_version
        assert account.settings == (WorkerSettings() if before is None else WorkerSettings(14, version=version))
        [row] = await Worker(service, account.database_id).sql("select body from config where key = 'days_kept'")
        assert row["body"] == (None if before is None else '{"days":14}')


@pytest.mark.rule("S7")
async def test_sync_without_a_recorded_end_is_not_mistaken_for_a_lost_commit(original, zone):
    async with original.running() as service:
        account_id = await service.ready()
        await service.call("PUT", f"/v1/accounts/{account_id}/link-host", {"host": f"go.{zone}"})
        await eventually(lambda: nothing_to_sync(service))
        # these calls write a new version, which must be higher than the version in the Worker's database
        await service.emulator.fault("drop_after", "*/d1/database/*/query", after=1, times=2)
        await add_link(service, "once")
        assert (await service.account()).config_version == 2


@pytest.mark.rule("A15")
async def test_stopped_crons_are_shown_before_the_account_is_silent(original):
    original.timing |= {"health_every_s": 0.2}
    async with original.running() as service:
        await service.ready()
        await service.confirmed()
        worker = Worker(service, (await service.account()).database_id)
        await worker.set_state(push={"tried": "", "next_at": original.clock() + HOUR_MS})
        original.clock.advance_s(3 * 3600 + 1)

        async def warned():
            shown = await service.shown()
            return shown if "crons_stopped" in (shown["error"] or {}).get("warnings", ()) else None

        shown = await eventually(warned)
        assert shown["state"] == "ready"
        await service.confirmed()
        assert (await service.shown())["error"] is None

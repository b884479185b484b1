"""Tests of the settings of email reports."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS, day_number
from svc.errors import Conflict, NotFound
from svc.store import disconnects, mailings, sites, user_deletions, users
from svc.store.mailings import Settings, new_mailing, put_mailing
from svc.store.report_periods import next_due_day
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import owner_of
from tests.store.report_recipients import ANN, BOB, account_with_site, put, states, token_for

if TYPE_CHECKING:
    from svc.store.tx import Store, Tx

pytestmark = pytest.mark.rule("Y14")


async def test_settings_and_recipients_are_replaced(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    first = await store.run(put(account_id, site_id, ANN, BOB, monthly=False))
    today = START_MS // DAY_MS
    assert first.weekly_day == next_due_day("weekly", today)
    assert first.weekly_day > today
    assert first.monthly_day is None
    assert 0 <= first.minute < 60
    second = await store.run(put(account_id, site_id, BOB, "eve@example.org", weekly=False))
    assert (second.weekly_day, second.monthly_day) == (None, next_due_day("monthly", today))
    assert list(states(second)) == [BOB, "eve@example.org"]
    assert second.recipients[0] == first.recipients[1]
    assert (second.minute, second.created_at) == (first.minute, first.created_at)
    user_id = await store.read(owner_of(account_id))
    assert await store.read(mailings.get_mailing(user_id, site_id)) == second
    assert await store.read(mailings.get_mailing(user_id + 1, site_id)) is None


async def test_empty_settings_are_not_stored(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    unset = await store.run(put(account_id, site_id, weekly=False, monthly=False))
    assert (unset.weekly_day, unset.monthly_day, unset.recipients) == (None, None, ())
    assert await store.read(mailings.get_mailing(unset.user_id, site_id)) is None


async def test_change_keeps_the_day_of_the_next_report(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    first = await store.run(put(account_id, site_id, ANN))
    later = await store.run(put(account_id, site_id, ANN, at=START_MS + 20 * DAY_MS))
    assert (later.weekly_day, later.monthly_day) == (first.weekly_day, first.monthly_day)


async def test_concurrent_changes_keep_one_row_per_address(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(store.run, put(account_id, site_id, ANN, BOB))
    user_id = await store.read(owner_of(account_id))
    mailing = await store.read(mailings.get_mailing(user_id, site_id))
    assert mailing is not None
    assert [one.email for one in mailing.recipients] == [ANN, BOB]


async def test_deleted_site_and_missing_account_are_rejected(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    await store.run(put(account_id, site_id, ANN))
    await store.run(sites.delete_site(account_id, site_id))
    assert await store.read(_rows()) == 0
    with pytest.raises(Conflict):
        await store.run(put(account_id, site_id, ANN))
    user = await store.read(users.get_user(await store.read(owner_of(account_id))))
    assert user is not None
    unset = new_mailing(user.id, "acc_gone", "account", "acc_gone", START_MS)
    with pytest.raises(NotFound):
        await store.run(put_mailing(user, unset, Settings(True, True, ()), None, START_MS))


def _rows() -> Tx[int]:
    found = 0
    for table in ("mailings", "mailing_recipients", "mailing_tokens"):
        found += (yield sql(f"select count(*) as n from {table}"))[0]["n"]
    return found


async def test_disconnect_and_deletion_of_the_user_delete_all_recipients(store: Store) -> None:
    for end in (_disconnect, _delete_user):
        account_id, site_id = await store.run(account_with_site())
        mailing = await store.run(put(account_id, site_id, ANN))
        await store.run(put(account_id, account_id, ANN, kind="account"))
        await store.run(token_for(mailing, ANN))
        await store.run(end(account_id))
        assert await store.read(_rows()) == 0


def _disconnect(account_id: str) -> Tx[None]:
    operation = yield from disconnects.begin_disconnect(account_id, "op_1", START_MS)
    yield from disconnects.end_disconnect(operation, None, [], START_MS)


def _delete_user(account_id: str) -> Tx[None]:
    assert not (yield from user_deletions.forget_mailings((yield from owner_of(account_id))))


async def test_export_has_all_email_reports_in_pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mailings, "PAGE", 1)
    account_id, site_id = await store.run(account_with_site())
    await store.run(put(account_id, site_id, ANN))
    await store.run(put(account_id, account_id, BOB, kind="account", at=START_MS + 1))
    user_id = await store.read(owner_of(account_id))
    [first] = await store.read(mailings.mailings_page(user_id, START_MS + 1))
    [second] = await store.read(mailings.mailings_page(user_id, START_MS + 1, first))
    assert [first.target, second.target] == [site_id, account_id]
    assert await store.read(mailings.mailings_page(user_id, START_MS + 1, second)) == []
    assert await store.read(mailings.mailings_page(user_id, START_MS, first)) == []


def test_first_report_is_after_the_day_of_the_change() -> None:
    monday = day_number("2026-11-23")
    assert next_due_day("weekly", monday) == monday + 7

"""Tests of email reports. Recipients confirm once, unsubscribe with one click, and never receive too many emails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import trio

from svc.clock import DAY_MS, day_number
from svc.errors import Conflict, NotFound
from svc.ids import new_secret
from svc.store import disconnects, mailings, sites, user_deletions, users
from svc.store.mailings import MAX_REQUESTS_A_DAY, Settings, Wanted, new_mailing, put_mailing
from svc.store.report_periods import next_due_day
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.makers import a_mailing, a_site, an_account, owner_of

if TYPE_CHECKING:
    from svc.model import Mailing
    from svc.store.tx import Store, Tx

pytestmark = pytest.mark.rule("Y14")

ANN, BOB = "ann@example.org", "bob@example.org"


def states(mailing: Mailing) -> dict[str, str]:
    return {one.email: one.state for one in mailing.recipients}


def asked(address: str | None = None) -> Tx[list[str]]:
    """Return the addresses that were asked to confirm, in order."""
    rows = yield sql("select address from outbox where kind = 'report_confirm' order by created_at, id")
    return [row["address"] for row in rows if address in (None, row["address"])]


def account_with_site() -> Tx[tuple[str, str]]:
    account_id = yield from an_account()
    return account_id, (yield from a_site(account_id))


def put(account_id: str, target: str, *emails: str, at: int = START_MS, kind: str = "site", **more: Any) -> Tx[Mailing]:
    return a_mailing(account_id, target, kind, recipients=emails, at=at, **more)


def token_for(mailing: Mailing, email: str) -> Tx[str]:
    """Store a token for a recipient, and return the token's digest."""
    [recipient] = [one for one in mailing.recipients if one.email == email]
    token = new_secret()
    yield from mailings.add_token(recipient.id, token, START_MS)
    return token


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


async def test_new_recipient_is_asked_once_and_confirms(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    assert states(mailing) == {ANN: "unconfirmed"}
    assert mailing.recipients[0].asked_at == START_MS
    assert await store.read(asked()) == [ANN]
    token = await store.run(token_for(mailing, ANN))
    for _ in range(2):
        confirmed = await store.run(mailings.subscribe(token, START_MS))
        assert confirmed is not None
        assert confirmed.recipient.state == "confirmed"
        assert (confirmed.name, confirmed.weekly, confirmed.listed) == ("shop.example.com", True, True)
    assert states(await store.run(put(account_id, site_id, ANN, at=START_MS + 2 * DAY_MS))) == {ANN: "confirmed"}
    assert await store.read(asked()) == [ANN]
    events = await store.read(_actions())
    assert events == ["account.state", "mailing.confirm"]


def _actions() -> Tx[list[str]]:
    rows = yield sql("select action from events order by user_id, number")
    return [row["action"] for row in rows]


async def test_own_confirmed_address_needs_no_confirmation(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    user_id = await store.read(owner_of(account_id))
    user = await store.read(users.get_user(user_id))
    assert user is not None
    assert states(await store.run(put(account_id, site_id, user.email))) == {user.email: "unconfirmed"}
    await store.run(_confirm_user(user_id))
    assert states(await store.run(put(account_id, account_id, user.email, kind="account"))) == {user.email: "confirmed"}
    assert await store.read(asked()) == [user.email]


def _confirm_user(user_id: int) -> Tx[None]:
    yield sql("update users set email_confirmed = 1 where id = $1", user_id)


async def test_unsubscribed_recipient_stays_unsubscribed_whatever_the_user_does(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN, BOB))
    token = await store.run(token_for(mailing, ANN))
    await store.run(mailings.subscribe(token, START_MS))
    await store.run(mailings.unsubscribe(token, START_MS))
    later = START_MS + 3 * DAY_MS
    assert states(await store.run(put(account_id, site_id, ANN, BOB, at=later)))[ANN] == "unsubscribed"
    assert ANN not in states(await store.run(put(account_id, site_id, BOB, at=later)))
    assert states(await store.run(put(account_id, site_id, ANN, at=later))) == {ANN: "unsubscribed"}
    assert await store.read(asked(ANN)) == [ANN]
    again = await store.run(mailings.subscribe(token, later))
    assert again is not None
    assert again.recipient.state == "confirmed"


async def test_removed_recipient_cannot_subscribe_itself(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    token = await store.run(token_for(mailing, ANN))
    await store.run(mailings.unsubscribe(token, START_MS))
    await store.run(put(account_id, site_id))
    found = await store.run(mailings.subscribe(token, START_MS))
    assert found is not None
    assert (found.recipient.state, found.listed) == ("unsubscribed", False)
    unconfirmed = await store.run(put(account_id, site_id, BOB))
    token = await store.run(token_for(unconfirmed, BOB))
    await store.run(put(account_id, site_id))
    assert await store.run(mailings.subscribe(token, START_MS)) is None


async def test_address_that_declined_is_not_asked_again_by_the_same_user(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    token = await store.run(token_for(mailing, ANN))
    await store.run(mailings.unsubscribe(token, START_MS))
    later = START_MS + 3 * DAY_MS
    other = await store.run(put(account_id, account_id, ANN, kind="account", at=later))
    assert states(other) == {ANN: "unsubscribed"}
    other_account, other_site = await store.run(account_with_site())
    assert states(await store.run(put(other_account, other_site, ANN, at=later))) == {ANN: "unconfirmed"}
    assert await store.read(asked(ANN)) == [ANN, ANN]
    # Recipients who have unsubscribed can subscribe again.
    await store.run(mailings.subscribe(token, later))
    await store.run(put(account_id, account_id, kind="account", at=later))
    third = await store.run(_second_site(account_id))
    assert states(await store.run(put(account_id, third, ANN, at=later + 2 * DAY_MS))) == {ANN: "unconfirmed"}


def _second_site(account_id: str) -> Tx[str]:
    return (yield from a_site(account_id, "blog.example.com"))


async def test_address_is_asked_at_most_once_in_24_hours_by_all_users(store: Store) -> None:
    first, second = await store.run(account_with_site()), await store.run(account_with_site())
    await store.run(put(*first, ANN))
    await store.run(put(*first, ANN, at=START_MS + 1))
    late = await store.run(put(*second, ANN, at=START_MS + DAY_MS - 1))
    assert late.recipients[0].asked_at is None
    assert await store.read(asked()) == [ANN]
    again = await store.run(put(*second, ANN, at=START_MS + DAY_MS))
    assert again.recipients[0].asked_at == START_MS + DAY_MS
    assert await store.read(asked()) == [ANN, ANN]


async def test_user_can_ask_ten_addresses_in_24_hours(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    emails = [f"p{n}@example.org" for n in range(20)]
    mailing = await store.run(put(account_id, site_id, *emails))
    assert [one.asked_at is not None for one in mailing.recipients] == [n < MAX_REQUESTS_A_DAY for n in range(20)]
    # Removing the recipients and adding them again must not allow more confirmation emails.
    await store.run(put(account_id, site_id))
    await store.run(put(account_id, site_id, *(f"q{n}@example.org" for n in range(20))))
    assert len(await store.read(asked())) == MAX_REQUESTS_A_DAY
    await store.run(put(account_id, site_id, *emails, at=START_MS + DAY_MS))
    assert len(await store.read(asked())) == 2 * MAX_REQUESTS_A_DAY


async def test_request_with_a_time_in_the_future_does_not_block_an_address(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    await store.run(put(account_id, site_id, ANN, at=START_MS + 1_000 * DAY_MS))
    await store.run(put(account_id, site_id, ANN))
    assert await store.read(asked()) == [ANN, ANN]


async def test_concurrent_users_ask_an_address_once(store: Store) -> None:
    places = [await store.run(account_with_site()) for _ in range(4)]
    async with trio.open_nursery() as nursery:
        for place in places:
            nursery.start_soon(store.run, put(*place, ANN))
    assert await store.read(asked()) == [ANN]


async def test_concurrent_changes_keep_one_row_per_address(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(store.run, put(account_id, site_id, ANN, BOB))
    user_id = await store.read(owner_of(account_id))
    mailing = await store.read(mailings.get_mailing(user_id, site_id))
    assert mailing is not None
    assert [one.email for one in mailing.recipients] == [ANN, BOB]


async def test_language_of_a_recipient(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    user = await store.read(users.get_user(await store.read(owner_of(account_id))))
    assert user is not None

    def put_in(*wanted: Wanted) -> Tx[Mailing]:
        unset = new_mailing(user.id, account_id, "site", site_id, START_MS)
        return put_mailing(user, unset, Settings(True, False, wanted), "de", START_MS)

    first = await store.run(put_in(Wanted(ANN, None), Wanted(BOB, "en")))
    assert [one.language for one in first.recipients] == ["de", "en"]
    second = await store.run(put_in(Wanted(ANN, "en"), Wanted(BOB, None)))
    assert [one.language for one in second.recipients] == ["en", "en"]


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


async def test_address_that_mail_servers_reject_has_to_confirm_again(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    await store.run(mailings.subscribe(await store.run(token_for(mailing, ANN)), START_MS))
    await store.run(mailings.mark_refused(mailing.recipients[0].id))
    found = await store.read(mailings.get_subscription(mailing.recipients[0].id))
    assert found is not None
    assert found.recipient.state == "unconfirmed"


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


async def test_email_that_is_composed_while_its_recipient_is_removed_fails_nothing(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    for _ in range(10):
        mailing = await store.run(put(account_id, site_id, ANN))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, _compose(mailing.recipients[0].id))
            nursery.start_soon(store.run, put(account_id, site_id))


def _compose(recipient_id: str) -> Tx[None]:
    if (yield from mailings.lock_recipient(recipient_id)):
        yield from mailings.add_token(recipient_id, new_secret(), START_MS)

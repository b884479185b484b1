"""Tests of the recipients of email reports.

Recipients confirm once, unsubscribe with one click, and never receive too many emails.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
import trio

from svc.clock import DAY_MS
from svc.ids import new_secret
from svc.store import recipients, users
from svc.store.mailings import Settings, new_mailing, put_mailing
from svc.store.recipients import MAX_REQUESTS_A_DAY, Wanted
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.direct_changes import confirm_address
from tests.store.makers import a_site, owner_of
from tests.store.report_recipients import ANN, BOB, account_with_site, put, states, token_for

if TYPE_CHECKING:
    from svc.model import Mailing
    from svc.store.tx import Store, Tx

pytestmark = pytest.mark.rule("Y14")


def asked(address: str | None = None) -> Tx[list[str]]:
    """Return the addresses that were asked to confirm, in order."""
    rows = yield sql("select address from outbox where kind = 'report_confirm' order by created_at, id")
    return [row["address"] for row in rows if address in (None, row["address"])]


async def test_new_recipient_is_asked_once_and_confirms(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    assert states(mailing) == {ANN: "unconfirmed"}
    assert mailing.recipients[0].asked_at == START_MS
    assert await store.read(asked()) == [ANN]
    token = await store.run(token_for(mailing, ANN))
    for _ in range(2):
        confirmed = await store.run(recipients.subscribe(token, START_MS))
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
    await store.run(confirm_address(user_id))
    assert states(await store.run(put(account_id, account_id, user.email, kind="account"))) == {user.email: "confirmed"}
    assert await store.read(asked()) == [user.email]


async def test_unsubscribed_recipient_stays_unsubscribed_whatever_the_user_does(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN, BOB))
    token = await store.run(token_for(mailing, ANN))
    await store.run(recipients.subscribe(token, START_MS))
    await store.run(recipients.unsubscribe(token, START_MS))
    later = START_MS + 3 * DAY_MS
    assert states(await store.run(put(account_id, site_id, ANN, BOB, at=later)))[ANN] == "unsubscribed"
    assert ANN not in states(await store.run(put(account_id, site_id, BOB, at=later)))
    assert states(await store.run(put(account_id, site_id, ANN, at=later))) == {ANN: "unsubscribed"}
    assert await store.read(asked(ANN)) == [ANN]
    again = await store.run(recipients.subscribe(token, later))
    assert again is not None
    assert again.recipient.state == "confirmed"


async def test_removed_recipient_cannot_subscribe_itself(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    token = await store.run(token_for(mailing, ANN))
    await store.run(recipients.unsubscribe(token, START_MS))
    await store.run(put(account_id, site_id))
    found = await store.run(recipients.subscribe(token, START_MS))
    assert found is not None
    assert (found.recipient.state, found.listed) == ("unsubscribed", False)
    unconfirmed = await store.run(put(account_id, site_id, BOB))
    token = await store.run(token_for(unconfirmed, BOB))
    await store.run(put(account_id, site_id))
    assert await store.run(recipients.subscribe(token, START_MS)) is None


async def test_address_that_declined_is_not_asked_again_by_the_same_user(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    token = await store.run(token_for(mailing, ANN))
    await store.run(recipients.unsubscribe(token, START_MS))
    later = START_MS + 3 * DAY_MS
    other = await store.run(put(account_id, account_id, ANN, kind="account", at=later))
    assert states(other) == {ANN: "unsubscribed"}
    other_account, other_site = await store.run(account_with_site())
    assert states(await store.run(put(other_account, other_site, ANN, at=later))) == {ANN: "unconfirmed"}
    assert await store.read(asked(ANN)) == [ANN, ANN]
    # Recipients who have unsubscribed can subscribe again.
    await store.run(recipients.subscribe(token, later))
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


async def test_address_that_mail_servers_reject_has_to_confirm_again(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    mailing = await store.run(put(account_id, site_id, ANN))
    await store.run(recipients.subscribe(await store.run(token_for(mailing, ANN)), START_MS))
    await store.run(recipients.mark_refused(mailing.recipients[0].id))
    found = await store.read(recipients.get_subscription(mailing.recipients[0].id))
    assert found is not None
    assert found.recipient.state == "unconfirmed"


async def test_email_that_is_composed_while_its_recipient_is_removed_fails_nothing(store: Store) -> None:
    account_id, site_id = await store.run(account_with_site())
    for _ in range(10):
        mailing = await store.run(put(account_id, site_id, ANN))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(store.run, _compose(mailing.recipients[0].id))
            nursery.start_soon(store.run, put(account_id, site_id))


def _compose(recipient_id: str) -> Tx[None]:
    if (yield from recipients.lock_recipient(recipient_id)):
        yield from recipients.add_token(recipient_id, new_secret(), START_MS)

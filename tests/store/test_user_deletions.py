"""Tests of the deletion of a user. The first transaction ends all access, and the last one leaves no rows."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS
from svc.config import LimitsConfig
from svc.errors import Conflict, Forbidden, NotFound, Unauthorized
from svc.ids import digest, new_id, new_secret
from svc.model import Counts, Key
from svc.remaining_resource import RemainingResource
from svc.store import (
    accounts,
    batches,
    disconnects,
    imported_days,
    keys,
    notifications,
    open_store,
    operations,
    outbox,
    retention,
    sessions,
    user_deletions,
    users,
)
from svc.store.connects import begin_connect
from svc.store.idempotency import Claim, StoredResponse, keep_response
from svc.store.tx import many, sql
from tests.clock import START_MS
from tests.databases import sqlite_config
from tests.store.direct_changes import confirm_address
from tests.store.makers import a_link, a_site, a_user, an_account, new_session
from tests.store.test_plans import explained, scans
from tests.store.whole_store import OF_NOBODY, TABLES, all_rows, user_with_all_rows

if TYPE_CHECKING:
    from svc.model import DeletionResult
    from svc.store.outbox import MailKind
    from svc.store.sessions import Session
    from svc.store.tx import Store, Tx


WORKER = RemainingResource("worker", "changed", {"worker": "svc-edge"})


async def forget_all(store: Store, user_id: int) -> DeletionResult:
    """Run all transactions of a deletion except the first one, in order.

    Return the result. For each account, it names the Worker and a token that remain at Cloudflare.
    """
    for account in await store.read(accounts.list_accounts(user_id)):
        operation = await store.run(disconnects.begin_disconnect(account.id, new_id("op"), START_MS))
        await store.run(disconnects.end_disconnect(operation, "svc-op_new", [WORKER], START_MS))
    for forget in user_deletions.FORGET:
        while await store.run(forget(user_id)):
            pass
    result = await store.run(user_deletions.end(user_id, START_MS))
    assert result is not None
    return result


@pytest.mark.rule("C12")
async def test_deletion_removes_all_rows_of_the_user_and_no_others(store):
    await store.run(user_with_all_rows())
    before = await store.read(all_rows())
    user_id = await store.run(user_with_all_rows())
    full = await store.read(all_rows())
    # If this fails for a new table, add a row to `user_with_all_rows`. If the table does not reference users,
    # `user_deletions` must delete its rows.
    assert [table for table in TABLES if full[table] == before[table]] == sorted({*OF_NOBODY, "departures"})
    user = await store.read(users.get_user(user_id))
    await store.run(user_deletions.begin(user_id, "hash", "session", START_MS))
    result = await forget_all(store, user_id)
    [remaining] = result.left
    assert remaining.words.endswith(f"): {WORKER.words}")
    assert result.revoke_tokens == ("svc-op_new",)
    after = await store.read(all_rows())
    [email] = (after["outbox"] - before["outbox"]).elements()
    assert dict(email)["address"] == user.email
    assert after["outbox"].total() == before["outbox"].total() + 1
    assert {**after, "outbox": None} == {**before, "outbox": None}
    await store.run(outbox.done(dict(email)["id"]))
    assert await store.read(all_rows()) == before


@pytest.mark.rule("C12")
async def test_first_transaction_ends_all_access(store):
    user_id = await store.run(a_user())
    user = await store.read(users.get_user(user_id))
    await store.run(confirm_address(user_id))
    opened = await store.run(a_session(user_id))
    rotated = await store.run(a_session(user_id))
    newest = replace(rotated.issued, access_digest="newest", refresh_digest="newer")
    assert await store.run(sessions.rotate_session(rotated.id, rotated.issued.refresh_digest, newest, DAY_MS * 30_000))
    key = await store.run(a_key(user_id))
    late = await store.run(a_session(user_id))
    accesses = [opened.issued.access_digest, rotated.issued.access_digest, "newest", late.issued.access_digest]
    assert None not in [await store.read(sessions.session_of_access(one, START_MS)) for one in accesses]
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    # A request that began earlier may store a session or a key after the first transaction. These must not give access
    # either.
    await store.run(sessions.add_session(late))
    for one in accesses:
        assert await store.read(sessions.session_of_access(one, START_MS)) is None
    assert await store.read(sessions.session_of_family(late.family, START_MS)) is None
    assert await store.read(keys.key_by_digest(key)) is None
    assert await store.read(keys.key_by_digest(await store.run(a_key(user_id)))) is None
    assert not await store.run(users.still_has_password(user_id, "hash"))
    assert await store.read(users.get_user(user_id)) is None
    assert await store.read(users.find_user(user.email)) is None
    assert (await store.read(user_deletions.asking_user("asking"))).id == user_id
    with pytest.raises(Unauthorized):
        await store.run(kept(user_id))
    with pytest.raises(Unauthorized):
        await store.run(connect(user_id))
    await store.run(users.put_mail_token(user_id, "reset", "digest", START_MS + 1))
    assert await store.run(users.reset_password("digest", "hash", START_MS)) is None
    # The address of the deleted user can be used again.
    assert await store.run(users.add_user(user.email, "hash", START_MS)) is not None


@pytest.mark.rule("C12")
@pytest.mark.parametrize(
    ("chosen", "asked", "written"),
    [(None, "de", "de"), ("en", "de", "en"), ("de", "en", "de"), (None, None, None)],
)
async def test_last_email_has_the_language_of_the_user_otherwise_of_the_request(store, chosen, asked, written):
    account_id = await store.run(an_account())
    user_id = (await store.read(accounts.account_by_id(account_id))).user_id
    await store.run(confirm_address(user_id))
    await store.run(notifications.set_language(user_id, chosen))
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS, asked))
    assert (await store.read(user_deletions.asking_user("asking"))).language == written
    await forget_all(store, user_id)
    [row] = await store.read(outbox.due(START_MS, 10))
    assert (row.kind, row.language) == ("user_deleted", written)
    [left] = [RemainingResource(**each) for each in row.facts["leftovers"]]
    assert (left.kind, left.why, left.facts["worker"]) == ("worker", "changed", "svc-edge")


@pytest.mark.rule("C12")
async def test_deletion_is_refused_if_the_password_was_changed(store):
    user_id = await store.run(a_user())
    await store.run(users.set_password_hash(user_id, "another"))
    before = await store.read(all_rows())
    with pytest.raises(Forbidden):
        await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    assert await store.read(all_rows()) == before


@pytest.mark.rule("C12")
async def test_queued_emails_are_deleted_except_the_final_one_of_an_earlier_user(store):
    user_id, other_id = await store.run(a_user()), await store.run(a_user())
    address, others = [(await store.read(users.get_user(one))).email for one in (user_id, other_id)]
    by_address: tuple[MailKind, ...] = ("reset", "resend", "sign_up", "user_deleted")
    own: tuple[MailKind, ...] = ("sign_up", "choose_password", "password_changed")
    for kind in by_address:
        for to in (address, others):
            await store.run(outbox.post(kind, to, START_MS, START_MS + DAY_MS))
    for kind in own:
        for to, owner in ((address, user_id), (others, other_id)):
            await store.run(outbox.post(kind, to, START_MS, START_MS + DAY_MS, user_id=owner))
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    waiting = await store.read(outbox.due(START_MS, 20))
    assert [row.kind for row in waiting if row.address == address] == ["user_deleted"]
    assert len([row for row in waiting if row.address == others]) == 7


@pytest.mark.rule("C12")
async def test_emails_of_another_sign_up_with_the_address_are_kept(store):
    users_of_one = [await store.run(users.add_user("two@example.com", "hash", START_MS)) for _ in range(2)]
    waits: list[tuple[MailKind, int | None]] = [("resend", None), *(("sign_up", one.id) for one in users_of_one)]
    for kind, owner in waits:
        await store.run(outbox.post(kind, "two@example.com", START_MS, START_MS + DAY_MS, user_id=owner))
    await store.run(user_deletions.begin(users_of_one[0].id, "hash", "asking", START_MS))
    waiting = await store.read(outbox.due(START_MS, 20))
    assert {(row.kind, row.user_id) for row in waiting} == {("sign_up", users_of_one[1].id), ("resend", None)}


@pytest.mark.rule("C12")
async def test_late_requests_write_no_rows(store):
    user_id = await store.run(a_user())
    account_id = await store.run(an_account(user_id))
    await store.run(a_site(account_id))
    [target] = await store.read(imported_days.targets_named([account_id], "site", "shop.example.com"))
    before = await store.read(all_rows())
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    await forget_all(store, user_id)
    empty = await store.read(all_rows())
    assert {table: rows for table, rows in empty.items() if rows} == {table: before[table] for table in ("serving",)}
    with pytest.raises(Unauthorized):
        await store.run(kept(user_id))
    with pytest.raises(Unauthorized):
        await store.run(connect(user_id))
    with pytest.raises(Unauthorized):
        await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    with pytest.raises(NotFound):
        await store.run(imported_days.import_days(target, {20_000: Counts(1, 0, 1)}))
    await store.run(users.put_mail_token(user_id, "reset", "digest", START_MS + 1))
    assert await store.read(all_rows()) == empty


@pytest.mark.rule("C12")
async def test_deletion_does_not_end_while_accounts_or_links_remain(store):
    user_id = await store.run(a_user())
    account_id = await store.run(an_account(user_id))
    await store.run(a_link(account_id))
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    assert await store.run(user_deletions.end(user_id, START_MS)) is None
    operation = await store.run(disconnects.begin_disconnect(account_id, new_id("op"), START_MS))
    await store.run(disconnects.end_disconnect(operation, None, [], START_MS))
    assert await store.run(user_deletions.end(user_id, START_MS)) is None
    assert (await forget_all(store, user_id)).left == ()


@pytest.mark.rule("C12")
async def test_deletion_interrupts_any_operation(store):
    account_id = await store.run(an_account())
    running = await store.read(operations.running(account_id))
    await store.run(operations.finish(running.id, START_MS))
    account = accounts.present(await store.read(accounts.account_by_id(account_id)))
    install = operations.add(new_id("op"), account_id, account.edge_account_id, "install", "script", START_MS)
    await store.run(install)
    with pytest.raises(Conflict):
        await store.read(operations.check_turn(account.edge_account_id, "disconnect"))
    await store.run(user_deletions.begin(account.user_id, "hash", "asking", START_MS))
    with pytest.raises(Conflict):
        await store.read(operations.check_turn(account.edge_account_id, "renew"))
    await store.read(operations.check_turn(account.edge_account_id, "disconnect"))
    begun = await store.run(disconnects.begin_disconnect(account_id, new_id("op"), START_MS))
    assert begun.kind == "disconnect"


@pytest.mark.rule("C12")
async def test_unconfirmed_sign_up_gets_no_email(store):
    user_id = await store.run(a_user())
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    await forget_all(store, user_id)
    assert await store.read(outbox.due(START_MS, 10)) == []


async def test_retention_skips_users_who_are_being_deleted(store):
    user_id = await store.run(a_user())
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    await store.run(retention.delete_sign_ups(START_MS))
    assert await store.read(user_deletions.under_way()) == [user_id]


@pytest.mark.rule("C12")
async def test_transactions_delete_at_most_one_batch(store, monkeypatch):
    monkeypatch.setattr(batches, "BATCH", 10)
    account_id = await store.run(an_account())
    user_id = (await store.read(accounts.account_by_id(account_id))).user_id
    targets = [await store.run(a_site(account_id)), *[await store.run(a_link(account_id, f"c{n}")) for n in range(3)]]
    await store.run(rows_of(targets, 24))
    await store.run(user_deletions.begin(user_id, "hash", "asking", START_MS))
    operation = await store.run(disconnects.begin_disconnect(account_id, new_id("op"), START_MS))
    await store.run(disconnects.end_disconnect(operation, None, [], START_MS))
    stored, steps = await store.read(size()), 0
    while await store.run(user_deletions.forget_totals(user_id)):
        left = await store.read(size())
        assert stored - left <= 2 * batches.BATCH + len(targets)
        stored, steps = left, steps + 1
    assert (stored, steps > 10) == (0, True)


async def test_deletion_finds_rows_by_index(tmp_path):
    async with open_store(sqlite_config(tmp_path)) as store:
        user_id = await store.run(user_with_all_rows())
        for forget in user_deletions.FORGET:
            plans: list[str] = []
            await store.run(explained(forget(user_id), plans))
            assert plans
            assert not scans(plans), plans


def a_session(user_id: int) -> Tx[Session]:
    opened = digest(new_secret())
    session = new_session(user_id, new_secret(), access=opened, until=START_MS + DAY_MS)
    yield from sessions.add_session(session)
    return session


def a_key(user_id: int) -> Tx[str]:
    value = digest(new_secret())
    key = Key(new_id("key"), user_id, None, "svc_x", ("sites",), None, None, START_MS, None)
    yield from keys.add_key(key, value, 9)
    return value


def kept(user_id: int) -> Tx[None]:
    claim = Claim(user_id, None, "POST", "/v1/sites", "late", "digest")
    yield from keep_response(claim, StoredResponse(201, b"", "", {}), START_MS, DAY_MS)


def connect(user_id: int) -> Tx[Any]:
    return begin_connect(
        account_id=new_id("acc"),
        operation_id=new_id("op"),
        user_id=user_id,
        edge_account_id="e" * 32,
        name="Late",
        limits=LimitsConfig(),
        now=START_MS,
    )


def rows_of(targets: list[str], number: int) -> Tx[None]:
    for table, column in (("hours", "at"), ("days", "day")):
        yield many(
            # the name of the table is a constant of this file
            f"insert into {table} (target, {column}, views, bots, visitors, as_of, final)"
            " values ($1, $2, 1, 0, 1, 1, 1)",
            [(target, n) for target in targets for n in range(number)],
        )


def size() -> Tx[int]:
    total = 0
    for table in ("hours", "days", "sites", "links"):
        rows = yield sql(f"select count(*) as n from {table}")  # the names of the tables are constants of this file
        total += int(rows[0]["n"])
    return total

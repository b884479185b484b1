"""Every email is sent once, despite failures of the mail server, the network, the store or the process."""

from __future__ import annotations

import email
import email.policy
import re
import threading
from collections import Counter
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

import pytest
import trio

from edge_worker.harness.sampling import EVERYTHING
from svc.clock import DAY_MS, HOUR_MS
from svc.commands.checks.store import emails_finding
from svc.config import Config, MailConfig
from svc.errors import StoreUnavailable
from svc.ids import digest
from svc.mail.outbox import open_outbox
from svc.mail.smtp import Patience
from svc.metrics import Metrics
from svc.store import accounts, notifications, open_store, outbox, users
from svc.store.tx import many, sql
from tests.clock import START_MS
from tests.scraped import scrape
from tests.smtp_server import Act, SmtpServer
from tests.store.direct_changes import delete_account_row
from tests.store.makers import an_account
from tests.store.passing import Passing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from svc.mail.outbox import Outbox
    from svc.store.tx import Store, Tx

T = TypeVar("T")

URL = "https://svc.example"
ANN = "ann@example.com"
# The number of emails that are queued while the server is unavailable.
EMAILS = 1_000 if EVERYTHING else 100
BOTH = pytest.mark.parametrize("store_config", ["sqlite", "postgres"], indirect=True)


@asynccontextmanager
async def sending(
    store, clock, server: SmtpServer, patience: Patience | None = None, metrics: Metrics | None = None
) -> AsyncIterator[Outbox]:
    url = f"smtp://127.0.0.1:{server.port}"
    mail = MailConfig.model_validate({"transport": "smtp", "smtp_url": url, "from": "svc@example.com"})
    async with open_outbox(store, Config(mail=mail), clock, URL, patience, metrics) as box:
        yield box


def tries(metrics: Metrics) -> dict[str, float]:
    """Return the number of attempts to send an email, by outcome."""
    return {outcome: n for (outcome,), n in scrape(metrics).counts("svc_mail_tries_total", "outcome").items()}


def posted(kind: Any, address: str = ANN, user_id: int | None = None, now: int = START_MS) -> Tx[None]:
    yield from outbox.post(kind, address, now, now + DAY_MS, user_id=user_id)


def signed_up(address: str = ANN) -> Tx[int]:
    user = yield from users.add_user(address, "hash", START_MS)
    assert user is not None
    yield from posted("sign_up", address, user.id)
    return user.id


def confirmed(address: str = ANN) -> Tx[int]:
    user = yield from users.add_user(address, "hash", START_MS, confirmed=True)
    assert user is not None
    return user.id


def rows() -> Tx[Any]:
    return (yield sql("select * from outbox order by created_at, id"))


def links(server: SmtpServer) -> list[str]:
    """Return the tokens in the emails that the server has accepted, oldest first."""
    found = []
    for one in server.taken:
        message = email.message_from_bytes(one.raw, policy=email.policy.default)
        plain: Any = message.get_body(("plain",))
        found += re.findall(r"\?token=(\S+)", plain.get_content())
    return found


def ids(server: SmtpServer) -> list[str]:
    return [str(email.message_from_bytes(one.raw)["Message-ID"]) for one in server.taken]


def at(step, act, times=10**6):
    """Return a server rule that applies `act` at this step, at most `times` times."""
    remaining = [times]

    def rule(name: str, said: str) -> Any:
        if name != step or not remaining[0]:
            return None
        remaining[0] -= 1
        return act

    return rule


@BOTH
async def test_no_email_is_lost_or_repeated_after_server_outage_and_restart(store_config, clock):
    """The queue contains emails of two kinds."""
    server = SmtpServer()

    def many_emails() -> Tx[None]:
        text = (
            "insert into users (email, password_hash, email_confirmed, plan, created_at) values ($1, '', 0, 'free', $2)"
        )
        yield many(text, [(f"u{n}@example{n % 7}.com", START_MS) for n in range(EMAILS // 2)])
        found = yield sql("select id, email from users order by id")
        for user in found:
            yield from posted("sign_up", user["email"], user["id"])
        account_id = yield from an_account()
        owner = yield sql("select user_id from accounts where id = $1", account_id)
        for n in range(EMAILS // 2):
            other = account_id if not n else (yield from an_account(owner[0]["user_id"]))
            yield from outbox.post(
                "account", f"n{n}@example.net", START_MS, START_MS + DAY_MS, account_id=other, facts={"well": True}
            )

    async with open_store(store_config) as store:
        await store.run(many_emails())
        metrics = Metrics()
        async with sending(store, clock, server, metrics=metrics) as box:
            for _ in range(6):
                clock.advance_s(300)
                await box.settled()
        assert scrape(metrics).total("svc_mail_server_away_total") >= 5
        assert tries(metrics) == {}
    async with open_store(store_config) as store:
        async with sending(store, clock, server) as box:
            for _ in range(6):  # after each attempt, the outbox retries no email until the clock advances
                clock.advance_s(300)
                await box.settled()
            assert len(await store.read(rows())) == EMAILS
            server.start()
            clock.advance_s(400)
            await box.settled()
        assert await store.read(rows()) == []
    server.stop()
    assert len(server.taken) == EMAILS
    assert set(Counter(one.to for one in server.taken).values()) == {1}
    assert len(set(ids(server))) == EMAILS
    assert server.connections <= 8


@BOTH
async def test_kill_before_recording_repeats_email_with_same_message_id(store_config, clock):
    def hang_once(step: str, said: str) -> Any:
        return Act.HANG if step == "taken" and len(server.taken) == 1 else None

    with SmtpServer(hang_once) as server:
        async with open_store(store_config) as store:
            user_id = await store.run(signed_up())
            async with trio.open_nursery() as process:

                async def run() -> None:
                    async with sending(store, clock, server):
                        await trio.sleep_forever()

                process.start_soon(run)
                await trio.to_thread.run_sync(server.hangs.acquire)
                process.cancel_scope.cancel()
        clock.advance_s(100)
        async with open_store(store_config) as store:
            async with sending(store, clock, server) as box:
                await box.settled()
            assert await store.read(rows()) == []
            assert len(server.taken) == 2
            assert len(set(ids(server))) == 1
            first, second = links(server)
            assert first != second
            # Mail clients show two identical emails only once. Both links work until one of them is used.
            user = await store.run(users.confirm_user(digest(first), clock()))
            assert user is not None
            assert user.id == user_id
            assert await store.run(users.confirm_user(digest(second), clock())) is None


async def test_used_link_is_not_sent_again(store, clock):
    with SmtpServer(at("taken", Act.CLOSE, times=1)) as server:
        await store.run(signed_up())
        async with sending(store, clock, server) as box:
            await box.settled()
            assert await store.run(users.confirm_user(digest(links(server)[0]), clock()))
            clock.advance_s(100)
            await box.settled()
    assert len(server.taken) == 1
    assert await store.read(rows()) == []


async def test_server_that_never_confirms_gets_two_copies(store, clock):
    with SmtpServer(at("taken", Act.CLOSE)) as server:
        await store.run(signed_up())
        metrics = Metrics()
        async with sending(store, clock, server, metrics=metrics) as box:
            for _ in range(5):
                await box.settled()
                clock.advance_s(3_600)
        assert tries(metrics) == {"retried": 1, "unsure": 1}
    assert len(server.taken) == 2
    assert len(set(ids(server))) == 1
    assert await store.read(rows()) == []


async def test_lifetime_of_link_starts_when_email_is_sent(store, clock):
    server = SmtpServer()
    await store.run(signed_up())
    await store.run(signed_up("bob@example.com"))
    async with sending(store, clock, server) as box:
        await box.settled()
        clock.advance_s(20 * 3_600)
        server.start()
        await box.settled()
    server.stop()
    one, other = links(server)
    clock.advance_s(86_399)
    assert await store.run(users.confirm_user(digest(one), clock()))
    clock.advance_s(1)
    assert await store.run(users.confirm_user(digest(other), clock())) is None


async def test_only_newest_of_waiting_links_is_sent(store, clock):
    server = SmtpServer()
    await store.run(confirmed())
    await store.run(signed_up("bob@example.com"))
    async with sending(store, clock, server) as box:
        for _ in range(3):
            await box.settled()
            await store.run(outbox.post_newest("reset", ANN, clock(), clock() + DAY_MS, instead_of=("reset",)))
            await store.run(
                outbox.post_newest(
                    "resend", "bob@example.com", clock(), clock() + DAY_MS, instead_of=("sign_up", "resend")
                )
            )
        server.start()
        clock.advance_s(400)
        await box.settled()
    server.stop()
    assert sorted(one.to for one in server.taken) == [ANN, "bob@example.com"]


async def test_store_contains_no_link(store, clock, caplog):
    with SmtpServer(at("DATA", "451 4.3.0 later", times=2)) as server:
        await store.run(signed_up())
        async with sending(store, clock, server) as box:
            for _ in range(3):
                await box.settled()
                stored = [await store.read(rows()), await store.read(tokens())]
                clock.advance_s(3_600)
    [token] = links(server)
    assert token not in repr(stored)
    assert token not in caplog.text
    assert ANN not in caplog.text
    assert digest(token) in repr(await store.read(tokens()))


def tokens() -> Tx[Any]:
    return (yield sql("select * from mail_tokens"))


async def test_request_for_unknown_address_leaves_no_trace(store, clock):
    with SmtpServer() as server:
        await store.run(posted("reset", "unknown@example.com"))
        await store.run(posted("resend", "unknown@example.com"))
        metrics = Metrics()
        async with sending(store, clock, server, metrics=metrics) as box:
            await box.settled()
        assert tries(metrics) == {"no_user": 2}
    assert "MAIL" not in server.steps
    assert await store.read(rows()) == []
    assert "unknown@" not in repr(await store.read(tokens()))


# ------------------------------------------------------------------------------------------------- failing emails


async def test_transient_refusal_is_retried_with_growing_delays_and_delays_no_others(store, clock):
    def greylisted(step: str, said: str) -> Any:
        return "450 4.2.0 greylisted" if step == "RCPT" and "@slow" in said and clock() < START_MS + HOUR_MS else None

    with SmtpServer(greylisted) as server:
        for n in range(8):
            await store.run(signed_up(f"u{n}@slow.example"))
        await store.run(signed_up())
        metrics = Metrics()
        async with sending(store, clock, server, metrics=metrics) as box:
            await box.settled()
            assert [one.to for one in server.taken] == [ANN]
            for _ in range(100):
                clock.advance_s(90)
                await box.settled()
            # The delays are 1, 2, 4, 8, 16 and 32 minutes, plus or minus 25%, plus up to 90 s until the next poll.
        counted = tries(metrics)
        assert 8 * 5 <= counted.pop("retried") <= 8 * 7
        assert counted == {"sent": 9}
    assert len(server.taken) == 9
    assert set(Counter(one.to for one in server.taken).values()) == {1}


class LateRead(Passing):
    """A store that delays the second read of due emails until the outcome of the first email is recorded."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.reads = 0
        self.second_read, self.recorded = trio.Event(), trio.Event()

    async def read(self, tx: Tx[T]) -> T:
        found = await super().read(tx)
        self.reads += bool(found)
        if self.reads == 2:
            self.second_read.set()
            await self.recorded.wait()
        return found

    async def run(self, tx: Tx[T]) -> T:
        if self.reads:
            await self.second_read.wait()
        before = await super().read(rows())
        done = await super().run(tx)
        after = await super().read(rows())
        if len(after) < len(before) or any(row["trouble"] for row in after):
            self.recorded.set()
        return done


async def test_email_that_fails_during_read_is_not_retried_immediately(store, clock):
    metrics = Metrics()
    with SmtpServer(at("RCPT", "451 4.3.0 try later")) as server:
        await store.run(signed_up())
        async with sending(LateRead(store), clock, server, metrics=metrics) as box:
            await box.settled()
    assert tries(metrics) == {"retried": 1}


async def test_outbox_is_settled_only_after_next_email_of_account(store, clock):
    account_id = await store.run(an_account())
    for second in range(2):
        at_ms = START_MS + second
        transaction = outbox.post("account", ANN, at_ms, at_ms + DAY_MS, account_id=account_id, facts={"well": True})
        await store.run(transaction)
    clock.advance_s(1)
    with SmtpServer() as server:
        async with sending(LateRead(store), clock, server) as box:
            await box.settled()
            assert await store.read(rows()) == []
    assert len(server.taken) == 2


async def test_slow_domain_does_not_delay_others(store, clock, mock_clock):
    def hanging(step: str, said: str) -> Any:
        return Act.HANG if step == "RCPT" and "@slow" in said else None

    patience = Patience(step_s=10_000)
    with SmtpServer(hanging) as server:
        for n in range(12):
            await store.run(signed_up(f"u{n}@slow.example"))
        for n in range(12):
            # these emails say that the user already exists
            await store.run(posted("sign_up", f"u{n}@example.com", now=START_MS + 1))
        clock.advance_s(1)
        async with sending(store, clock, server, patience) as box:
            for _ in range(4):  # each of the outbox's four senders hangs once
                await trio.to_thread.run_sync(server.hangs.acquire)
            mock_clock.jump(patience.email_s)
            await box.settled()
            assert len(server.taken) == 12
            assert server.connections == 8
            assert all(row["due_at"] > clock() for row in await store.read(rows()))
            await store.run(posted("sign_up", "new@slow.example", now=clock()))
            await box.settled()
            assert server.connections == 8
    assert len(await store.read(rows())) == 13


@pytest.mark.parametrize("kind", ["sign_up", "account"])
async def test_refused_address_gets_no_notices_until_it_accepts_email(store, clock, kind):
    with SmtpServer(at("RCPT", "550 5.1.1 no such user", times=1)) as server:
        if kind == "sign_up":
            user_id = await store.run(signed_up())
        else:
            user_id = await store.run(confirmed())
            account_id = await store.run(an_account(user_id))
            await store.run(noticed(account_id, "revoked"))
            await store.run(noticed(account_id, "over"))
        metrics = Metrics()
        async with sending(store, clock, server, metrics=metrics) as box:
            await box.settled()
            assert tries(metrics) == {"refused": 1}
            assert await store.read(rows()) == []
            user = await store.read(users.get_user(user_id))
            assert user is not None
            assert user.email_refused_at == START_MS
            if kind == "account":
                await store.run(noticed(account_id, "resource_drift"))
                await store.run(notifications.enqueue(account_id, {}, [], well=True, due_at=None, now=START_MS))
                assert await store.read(rows()) == []
                await store.run(posted("reset"))
            else:
                await store.run(posted("resend"))
            await box.settled()
            assert len(server.taken) == 1
            user = await store.read(users.get_user(user_id))
            assert user is not None
            assert user.email_refused_at is None
            if kind == "account":
                await store.run(noticed(account_id, "no_connection"))
                await box.settled()
                assert len(server.taken) == 2


def noticed(account_id: str, trouble: str) -> Tx[None]:
    yield from notifications.enqueue(account_id, {}, [{"trouble": trouble}], well=False, due_at=None, now=START_MS)


@pytest.mark.parametrize("way", ["confirm", "notify"])
async def test_refused_address_is_retried_on_request_of_user(store, clock, way):
    user_id = await store.run(confirmed())
    await store.run(notifications.address_refused(user_id, START_MS))
    with SmtpServer() as server:
        async with sending(store, clock, server) as box:
            if way == "notify":
                await store.run(notifications.set_notify(user_id, notify=True))
            else:
                await store.run(posted("resend"))
                await box.settled()
                await store.run(notifications.address_refused(user_id, START_MS + 1))
                assert await store.run(users.confirm_user(digest(links(server)[0]), clock()))
    user = await store.read(users.get_user(user_id))
    assert user is not None
    assert user.email_refused_at is None


async def test_refusal_of_service_does_not_mark_address_and_is_retried(store, clock):
    responses = iter(["550 5.7.1 relaying denied", "554 5.7.1 spam"])

    def rule(step: str, said: str) -> Any:
        return next(responses, None) if step in ("RCPT", "taken") and len(server.steps) < 12 else None

    with SmtpServer(rule) as server:
        user_id = await store.run(signed_up())
        async with sending(store, clock, server) as box:
            for _ in range(3):
                await box.settled()
                clock.advance_s(600)
    user = await store.read(users.get_user(user_id))
    assert user is not None
    assert user.email_refused_at is None
    assert await store.read(rows()) == []


@pytest.mark.parametrize("response", ["554 5.1.8 sender address rejected", "550 relay not permitted"])
async def test_relay_that_rejects_service_at_each_recipient_marks_no_address(store, clock, response):
    with SmtpServer(at("RCPT", response)) as server:
        for n in range(3):
            await store.run(signed_up(f"u{n}@example.com"))
        async with sending(store, clock, server) as box:
            await box.settled()
        found = await store.read(outbox.backlog())
    assert (found.queue.waiting, found.refused_addresses) == (3, 0)


async def test_unspecific_refusal_marks_address_after_any_sender_reached_its_domain(store, clock):
    """The outbox's four senders share the domains that the server has accepted."""

    def rule(step: str, said: str) -> Any:
        return "550 no such user" if step == "RCPT" and ANN not in said else None

    with SmtpServer(rule) as server:
        async with sending(store, clock, server) as box:
            for address in (ANN, *(f"u{n}@example.com" for n in range(4)), "bob@other.example"):
                await store.run(signed_up(address))
                await box.settled()
        found = await store.read(outbox.backlog())
    assert (found.queue.waiting, found.refused_addresses) == (1, 4)


async def test_refused_sender_counts_as_unavailable_server_without_attempts(store, clock):
    with SmtpServer(at("MAIL", "550 5.7.1 not you", times=5)) as server:
        for n in range(20):
            await store.run(signed_up(f"u{n}@example.com"))
        async with sending(store, clock, server) as box:
            await box.settled()
            assert server.steps.count("MAIL") <= 4
            assert {row["attempts"] for row in await store.read(rows())} == {0}
            for _ in range(3):
                clock.advance_s(400)
                await box.settled()
    assert len(server.taken) == 20


async def test_email_that_cannot_be_composed_fails_alone_and_is_retried_later(store, clock, expected_errors):
    expected_errors.allow("email failed.*KeyError")
    with SmtpServer() as server:
        await store.run(posted("of another version"))
        await store.run(signed_up())
        async with sending(store, clock, server) as box:
            await box.settled()
            await box.settled()
    [row] = await store.read(rows())
    assert row["due_at"] > clock()
    assert len(server.taken) == 1


async def test_expired_emails_are_deleted_and_counted(store, clock, expected_errors, caplog):
    expected_errors.allow("emails expired")
    server = SmtpServer()
    user_id = await store.run(signed_up())
    account_id = await store.run(an_account())
    await store.run(confirm_all())
    await store.run(noticed(account_id, "revoked"))
    metrics = Metrics()
    async with sending(store, clock, server, metrics=metrics) as box:
        clock.advance_s(86_400 - 1)
        await box.settled()
        assert len(await store.read(rows())) == 2
        clock.advance_s(1)
        await box.settled()
        [row] = await store.read(rows())
        assert row["kind"] == "account"
        clock.advance_s(2 * 86_400)
        await box.settled()
    assert scrape(metrics).total("svc_mail_expired_total") == 2
    server.stop()
    assert await store.read(rows()) == []
    assert ANN not in caplog.text
    assert await store.read(users.get_user(user_id)) is not None


async def test_expiry_of_email_that_server_defers_is_only_a_warning(store, clock, caplog):
    """The test fails if an error is logged."""
    with SmtpServer(at("RCPT", "450 4.1.2 domain not found")) as server:
        await store.run(signed_up())
        async with sending(store, clock, server) as box:
            await box.settled()
            clock.advance_s(86_400)
            await box.settled()
    assert await store.read(rows()) == []
    assert "emails expired after failed attempts" in caplog.text


def confirm_all() -> Tx[None]:
    yield sql("update users set email_confirmed = 1")


async def test_requested_emails_are_sent_before_notices(store, clock):
    first_four: list[str] = []
    together = threading.Barrier(4, timeout=60)  # waits for four concurrent emails, in any order

    def rule(step: str, said: str) -> None:
        if step == "RCPT" and len(first_four) < 4:
            first_four.append(said)
            together.wait()

    server = SmtpServer(rule)
    for _ in range(30):
        account_id = await store.run(an_account())
        await store.run(confirm_all())
        await store.run(noticed(account_id, "revoked"))
    clock.advance_s(1)
    await store.run(confirmed())
    await store.run(posted("reset", now=clock()))
    async with sending(store, clock, server) as box:
        server.start()
        await box.settled()
    server.stop()
    assert any(f"<{ANN}>" in said for said in first_four)
    assert len(server.taken) == 31


class Forgetful(Passing):
    """A store that is unavailable when the outbox records the first sent email."""

    away = 1

    async def run(self, tx: Tx[T]) -> T:
        if self.away and "_mark_sent" in repr(tx):
            self.away -= 1
            tx.close()
            raise StoreUnavailable
        return await super().run(tx)


async def test_unrecorded_email_is_recorded_later_and_not_sent_again(store, clock):
    forgetful = Forgetful(store)
    with SmtpServer() as server:
        await store.run(signed_up())
        async with sending(forgetful, clock, server) as box:
            await box.settled()
            assert len(await store.read(rows())) == 1
            clock.advance_s(100)
            await box.settled()
    assert forgetful.away == 0
    assert len(server.taken) == 1
    assert await store.read(rows()) == []


async def test_email_is_sent_when_its_transaction_commits(store, clock):
    with SmtpServer() as server:
        taken = trio.Event()
        token = trio.lowlevel.current_trio_token()

        def notify(step: str, said: str) -> None:
            if step == "taken":
                token.run_sync_soon(taken.set)

        server.rule = notify
        async with sending(store, clock, server):
            await trio.testing.wait_all_tasks_blocked()
            await store.run(signed_up())
            await taken.wait()


async def test_check_reports_email_queue(store, clock):
    assert emails_finding(await store.read(outbox.backlog())).text == "none queued"
    user_id = await store.run(signed_up())
    await store.run(notifications.address_refused(user_id, START_MS))
    [row] = await store.read(rows())
    await store.run(outbox.failed(row["id"], START_MS, "RCPT 450 4.2.0"))
    found = await store.read(outbox.backlog())
    assert emails_finding(found).text == (
        "1 queued, the oldest since 2026-11-21T04:00:00.000Z; failed attempts: RCPT 450 4.2.0;"
        " mail servers reject the addresses of 1 user"
    )
    assert "failed" not in emails_finding(replace(found, errors=())).text
    assert emails_finding(found).verdict == emails_finding(replace(found, errors=())).verdict == "warn"
    assert emails_finding(replace(found, errors=(), refused_addresses=0)).verdict == "ok"


async def test_deleting_account_deletes_its_emails(store, clock):
    account_id = await store.run(an_account())
    await store.run(confirm_all())
    await store.run(noticed(account_id, "revoked"))
    account = await store.read(accounts.account_by_id(account_id))
    assert account is not None
    await store.run(delete_account_row(account_id))
    assert await store.read(rows()) == []

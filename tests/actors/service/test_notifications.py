"""One e-mail for a trouble that needs a hand, one when all is well again; none twice, none lost, none unwanted."""

from __future__ import annotations

import email
import email.policy
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.service import eventually
from svc.actors.service.notifications import Seen, look
from svc.clock import DAY_MS, day_number
from svc.errors import CATALOGUE
from svc.model import Advice, Measured
from svc.store import accounts
from svc.store.advice import keep_advice
from svc.store.tx import sql
from svc.worker.advice import LIMITS

if TYPE_CHECKING:
    from svc.errors import Code
    from svc.model import Metric

AFTER_S = 900
URL = "https://svc.example"


@pytest.fixture
async def told(place):
    """An account that runs, at a service whose own checks do not come between."""
    place.timing |= {"health_every_s": 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        yield service


async def now_in(service, state, code=None, *, at_once=False):
    """The account is in this state, and its duties have looked at it."""
    account = await service.account()
    await service.store.run(in_state(account.id, state, code))
    await looked(service)
    if not at_once:
        service.clock.advance_s(AFTER_S)
        await looked(service)


async def looked(service):
    service.supervisor.wake(service.customer.account_id)
    await service.idle()


async def sent(service):
    """The e-mails that have left, the oldest first: subject and text."""
    messages = [email.message_from_string(text, policy=email.policy.default) for text in await service.world.inbox()]
    # Its lines are short ones; what it says is looked for as it was written.
    plain: list[Any] = [one.get_body(("plain",)) for one in messages]
    return [(one["Subject"], " ".join(text.get_content().split())) for one, text in zip(messages, plain, strict=True)]


async def notify(service, wanted):
    answer = await service.call("PATCH", "/v1/me", {"notify": wanted})
    assert (answer.status, answer.body["user"]["notify"]) == (200, wanted)


def in_state(account_id, state, code):
    note = None if code is None else f'{{"code": "{code}", "message": "It was changed by hand.", "details": null}}'
    yield sql("update accounts set state = $2, error = $3 where id = $1", account_id, state, note)


@pytest.mark.rule("X13")
async def test_each_error_sends_one_email_when_it_begins_and_one_when_it_ends(told):
    errors: list[tuple[str, Code]] = [
        ("revoked", "revoked"),
        ("permission_error", "permission_error"),
        ("permission_error", "credentials_unreadable"),
        ("resource_drift", "resource_drift"),
    ]
    for state, code in errors:
        before = len(await sent(told))
        await now_in(told, state, code)
        account = await told.account()
        [(subject, text)] = (await sent(told))[before:]
        assert account.name in subject, code
        assert account.name in text, code
        assert "It was changed by hand." in text, code
        assert CATALOGUE[code].remedy in text, code
        assert f"{URL}/accounts/{account.id}" in text, code
        for _ in range(3):
            told.clock.advance_s(AFTER_S)
            await looked(told)
        assert len(await sent(told)) == before + 1, code
        await now_in(told, "ready")
        assert [subject for subject, _ in await sent(told)][before + 1 :] == [f"{account.name}: well again"], code
        await now_in(told, state, code)
        assert len(await sent(told)) == before + 3, code
        await now_in(told, "ready")


@pytest.mark.rule("X13")
async def test_a_silent_worker_is_told_when_two_more_pushes_were_missed(told):
    await now_in(told, "no_connection")
    assert await sent(told) == []
    told.clock.advance_s(7_200)
    await looked(told)
    [(_, text)] = await sent(told)
    assert CATALOGUE["worker_silent"].remedy in text


@pytest.mark.rule("X13", "A25")
async def test_a_token_that_ends_soon_is_told_and_its_renewal_ends_it(told):
    account = await told.account()
    await told.store.run(accounts.warn(account.id, "token_expires_soon"))
    await now_in(told, "ready")
    [(subject, text)] = await sent(told)
    assert "ends soon" in subject
    assert CATALOGUE["revoked"].remedy in text
    await told.store.run(accounts.unwarn(account.id, "token_expires_soon"))
    await now_in(told, "ready")
    assert len(await sent(told)) == 2


AT_A_LIMIT: dict[Metric, tuple[int, str]] = {
    "requests": (104_200, "had 104,200 requests on 2026-11-20; its plan allows 100,000 a day"),
    "writes": (100_000, "wrote 100,000 rows on 2026-11-20; its plan allows 100,000 a day"),
    "reads": (5_100_000, "read 5,100,000 rows on 2026-11-20; its plan allows 5,000,000 a day"),
    "size": (412_900_000, "holds 412 MB of the 500 that the account's plan allows"),
}


@pytest.mark.rule("X13", "A24")
async def test_each_limit_of_a_plan_sends_one_email_when_it_is_reached_and_one_when_it_is_not_any_more(told):
    for number, (metric, (used, what)) in enumerate(AT_A_LIMIT.items()):
        before, at = len(await sent(told)), 10 * number
        limit = LIMITS["free"][metric].limit
        over = Advice(at + 1, "over", metric, {metric: Measured("over", limit, used, day_number("2026-11-20"), None)})
        await now_advised(told, over)
        [(subject, text)] = (await sent(told))[before:]
        assert "limit" in subject, metric
        assert what in text, metric
        # What cannot be read is not known to be well.
        await now_advised(told, Advice(at + 2, "ok", unavailable=("analytics",)))
        await now_advised(told, replace(over, at=at + 3))
        assert len(await sent(told)) == before + 1, metric
        await now_advised(told, Advice(at + 4, "ok"))
        subjects = [subject for subject, _ in await sent(told)][before + 1 :]
        assert subjects == [f"{(await told.account()).name}: well again"], metric


@pytest.mark.rule("X13", "A24")
@pytest.mark.parametrize(("days", "suggested"), [(15, True), (14, False)])
async def test_email_about_the_size_suggests_fewer_days_while_they_can_be_fewer(told, days, suggested):
    account = await told.account()
    await told.store.run(accounts.change_account(account.id, told.clock(), days_kept=days))
    limit = LIMITS["free"]["size"].limit
    size: dict[Metric, Measured] = {"size": Measured("over", limit, 412_900_000, day_number("2026-11-20"), None)}
    await now_advised(told, Advice(1, "over", "size", size, suggest="shorter_hourly_retention"))
    [(_, text)] = await sent(told)
    assert ("Keep breakdowns for fewer days" in text) == suggested
    assert "larger plan" in text


async def now_advised(service, advice):
    """The account has this advice, and a while later its duties have looked at it."""
    account = await service.account()
    await service.store.run(keep_advice(account.id, advice, account.plan, due_at=service.clock() + DAY_MS))
    await now_in(service, "ready")


@pytest.mark.rule("X13", "A24")
async def test_advice_that_could_not_be_read_is_no_trouble_by_itself(told):
    await now_advised(told, Advice(1, "ok", unavailable=("analytics", "size")))
    assert await sent(told) == []


@pytest.mark.rule("X13")
async def test_what_is_transient_or_ends_soon_is_never_told(told):
    await now_in(told, "permission_error", "token_refused")
    await now_in(told, "resource_drift", "resource_drift", at_once=True)
    told.clock.advance_s(AFTER_S - 1)
    await looked(told)
    await now_in(told, "ready")
    await now_in(told, "installing")
    assert await sent(told) == []


@pytest.mark.rule("X13")
async def test_a_trouble_that_comes_and_goes_is_told_once(told):
    await now_in(told, "revoked", "revoked")
    for _ in range(5):
        await now_in(told, "ready", at_once=True)
        told.clock.advance_s(AFTER_S / 2)
        await now_in(told, "revoked", "revoked", at_once=True)
        told.clock.advance_s(AFTER_S / 2)
    assert len(await sent(told)) == 1
    await now_in(told, "ready")
    assert len(await sent(told)) == 2


@pytest.mark.rule("X13")
async def test_a_trouble_that_turns_into_another_is_two_troubles_with_one_end(told):
    await now_in(told, "permission_error", "permission_error")
    await now_in(told, "revoked", "revoked")
    assert len(await sent(told)) == 2
    await now_in(told, "ready")
    told.clock.advance_s(AFTER_S)
    await looked(told)
    assert [subject.endswith("well again") for subject, _ in await sent(told)] == [False, False, True]


@pytest.mark.rule("X13")
async def test_who_wants_none_gets_none_also_not_for_what_happened_meanwhile(told):
    await notify(told, wanted=False)
    await now_in(told, "revoked", "revoked")
    await notify(told, wanted=True)
    await now_in(told, "revoked", "revoked")
    await now_in(told, "ready")
    assert await sent(told) == []
    await now_in(told, "revoked", "revoked")
    assert len(await sent(told)) == 1


@pytest.mark.rule("X13")
async def test_switched_off_what_waits_is_not_sent_nor_its_end(told):
    with mail_away(told):
        await now_in(told, "revoked", "revoked")
        await notify(told, wanted=False)
        await notify(told, wanted=True)
    await now_in(told, "ready")
    assert await sent(told) == []


@contextmanager
def mail_away(service):
    """E-mails wait: there is no folder that they could be written into."""
    folder = service.world.mail_folder
    folder.write_text("in the way")
    yield
    folder.unlink()
    service.clock.advance_s(AFTER_S)


@pytest.mark.rule("X13")
async def test_nothing_goes_to_an_address_that_is_not_confirmed(told):
    await told.store.run(unconfirmed(told.user.id))
    await now_in(told, "revoked", "revoked")
    assert await sent(told) == []


def unconfirmed(user_id):
    yield sql("update users set email_confirmed = 0 where id = $1", user_id)


@pytest.mark.rule("X13")
async def test_a_trouble_is_told_at_its_time_after_a_restart_though_nothing_else_is_due(place):
    place.timing |= {"health_every_s": 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        await now_in(service, "revoked", "revoked", at_once=True)
        account = await service.account()
        assert account.notice_due_at == service.clock() + AFTER_S * 1000
    place.clock.advance_s(AFTER_S)
    async with place.running() as service:

        async def look():
            return await sent(service) or None

        assert len(await eventually(look)) == 1


@pytest.mark.rule("X13")
async def test_what_waits_is_not_sent_once_it_is_unwanted_and_is_sent_in_its_order(place):
    """The e-mails cannot be written; two wait, and the second waits for the first."""
    place.timing |= {"health_every_s": 86_400}
    (place.folder / "mail").touch()
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        await now_in(service, "revoked", "revoked")
        await now_in(service, "ready")
        await service.world.outbox.settled()
        (place.folder / "mail").unlink()
        service.clock.advance_s(3_600)
        assert [subject.endswith("well again") for subject, _ in await sent(service)] == [False, True]


@pytest.mark.parametrize(
    ("before", "troubles", "seen", "news", "due_at"),
    [
        ({}, [], {}, (), None),
        ({}, ["revoked"], {"revoked": Seen(100)}, (), 110),
        ({"revoked": Seen(90)}, ["revoked"], {"revoked": Seen(90, told=True)}, ("revoked",), None),
        ({"revoked": Seen(95)}, [], {}, (), None),
        ({"revoked": Seen(1, told=True)}, [], {"revoked": Seen(1, told=True, gone_at=100)}, (), 110),
        ({"revoked": Seen(1, told=True, gone_at=95)}, ["revoked"], {"revoked": Seen(1, told=True)}, (), None),
        ({"revoked": Seen(1, told=True, gone_at=90)}, [], {}, (), None),
    ],
)
def test_a_look(before, troubles, seen, news, due_at):
    step = look(before, dict.fromkeys(troubles), 100, 10)
    assert (step.seen, step.news, step.due_at, step.well) == (seen, news, due_at, not seen)

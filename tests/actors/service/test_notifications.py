"""Users get one email for each problem, and one when all problems are resolved. No email is lost or sent twice."""

from __future__ import annotations

import email
import email.policy
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from edge_worker.harness.service import eventually
from svc.actors.checks.findings import Finding
from svc.actors.service.notifications import Seen, next_step
from svc.clock import DAY_MS, day_number, day_of
from svc.errors import CATALOGUE, ErrorNote
from svc.german.errors import GERMAN_ERRORS
from svc.mail.english import ENGLISH
from svc.model import Advice, Measured
from svc.store import account_health, accounts, states
from svc.store.advice import keep_advice
from svc.store.tx import sql
from svc.worker.advice import LIMITS
from tests.store.direct_changes import disable_user

if TYPE_CHECKING:
    from svc.errors import Code
    from svc.model import Metric

AFTER_S = 900
URL = "https://svc.example"


@pytest.fixture
async def quiet(place):
    """A service with an account. The service's own checks do not interfere with the tests."""
    place.timing |= {"health_every_s": 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        yield service


async def set_state_and_run(service, state, code=None, *, at_once=False):
    """Put the account into the given state, and run its duties. Unless `at_once` is set, run them again after
    `AFTER_S`.
    """
    account = await service.account()
    await service.store.run(in_state(account.id, state, code))
    await run_duties(service)
    if not at_once:
        service.clock.advance_s(AFTER_S)
        await run_duties(service)


async def run_duties(service):
    service.supervisor.wake(service.customer.account_id)
    await service.idle()


async def sent(service):
    """Return the subjects and texts of the sent emails, oldest first."""
    raws = [text.encode() for text in await service.world.inbox()]
    messages = [email.message_from_bytes(raw, policy=email.policy.default) for raw in raws]
    # Undo the line wrapping, so that tests can search for whole sentences.
    plain: list[Any] = [one.get_body(("plain",)) for one in messages]
    return [(one["Subject"], " ".join(text.get_content().split())) for one, text in zip(messages, plain, strict=True)]


async def notify(service, wanted):
    response = await service.call("PATCH", "/v1/me", {"notify": wanted})
    assert (response.status, response.body["user"]["notify"]) == (200, wanted)


def in_state(account_id, state, code):
    note = None if code is None else f'{{"code": "{code}", "message": "It was changed by hand.", "details": null}}'
    yield sql("update accounts set state = $2, error = $3 where id = $1", account_id, state, note)


@pytest.mark.rule("X13")
async def test_each_error_sends_one_email_when_it_begins_and_one_when_it_ends(quiet):
    errors: list[tuple[str, Code]] = [
        ("revoked", "revoked"),
        ("permission_error", "permission_error"),
        ("permission_error", "credentials_unreadable"),
        ("resource_drift", "resource_drift"),
    ]
    for state, code in errors:
        before = len(await sent(quiet))
        await set_state_and_run(quiet, state, code)
        account = await quiet.account()
        [(subject, text)] = (await sent(quiet))[before:]
        assert account.name in subject, code
        assert account.name in text, code
        assert "It was changed by hand." in text, code
        assert CATALOGUE[code].remedy in text, code
        assert f"{URL}/accounts/{account.id}" in text, code
        for _ in range(3):
            quiet.clock.advance_s(AFTER_S)
            await run_duties(quiet)
        assert len(await sent(quiet)) == before + 1, code
        await set_state_and_run(quiet, "ready")
        assert [subject for subject, _ in await sent(quiet)][before + 1 :] == [f"{account.name} is healthy again"], code
        await set_state_and_run(quiet, state, code)
        assert len(await sent(quiet)) == before + 3, code
        await set_state_and_run(quiet, "ready")


@pytest.mark.rule("X13")
async def test_email_is_in_the_language_of_the_user_and_names_the_finding(quiet):
    assert (await quiet.call("PATCH", "/v1/me", {"language": "de"})).status == 200
    account = await quiet.account()
    finding = Finding("right_missing", "permission_error", {"right": "D1: Edit", "said": "No."}).to_note()
    note = ErrorNote("permission_error", "The worker is broken.", None, finding.finding)
    await quiet.store.run(states.move(account.id, ("ready",), "permission_error", note, quiet.clock()))
    assert (await quiet.account()).error == note
    await run_duties(quiet)
    quiet.clock.advance_s(AFTER_S)
    await run_duties(quiet)
    [(subject, text)] = await sent(quiet)
    assert subject == f"Problem mit dem Konto {account.name}: Dem Arbeits-Token des Kontos fehlt eine Berechtigung."
    assert "Das Arbeits-Token hat die Berechtigung D1: Edit nicht oder nicht für alle Ressourcen: No." in text
    assert GERMAN_ERRORS["permission_error"].remedy in text
    assert "The worker is broken" not in text
    await set_state_and_run(quiet, "ready")
    assert (await sent(quiet))[-1][0] == f"{account.name}: Alles wieder in Ordnung"


@pytest.mark.rule("X13")
async def test_silent_worker_is_reported_after_two_more_missed_pushes(quiet):
    await set_state_and_run(quiet, "no_connection")
    assert await sent(quiet) == []
    quiet.clock.advance_s(7_200)
    await run_duties(quiet)
    [(_, text)] = await sent(quiet)
    assert CATALOGUE["worker_silent"].remedy in text


@pytest.mark.rule("X13", "A25")
async def test_token_that_expires_soon_is_reported_until_its_renewal(quiet):
    account = await quiet.account()
    await quiet.store.run(account_health.warn(account.id, "token_expires_soon"))
    await set_state_and_run(quiet, "ready")
    [(subject, text)] = await sent(quiet)
    assert "expires soon" in subject
    assert f"expires on {ENGLISH.day(day_of(account.token_expires_at))} (UTC)" in text
    assert CATALOGUE["revoked"].remedy in text
    await quiet.store.run(account_health.remove_warning(account.id, "token_expires_soon"))
    await set_state_and_run(quiet, "ready")
    assert len(await sent(quiet)) == 2


AT_A_LIMIT: dict[Metric, tuple[int, str]] = {
    "requests": (104_200, "received 104,200 requests on November 20, 2026; the plan allows 100,000 a day"),
    "writes": (100_000, "wrote 100,000 rows on November 20, 2026; the plan allows 100,000 a day"),
    "reads": (5_100_000, "read 5,100,000 rows on November 20, 2026; the plan allows 5,000,000 a day"),
    "size": (412_900_000, "uses 412 MB of the 500 MB that the account's plan allows"),
}


@pytest.mark.rule("X13", "A24")
async def test_each_plan_limit_sends_one_email_when_reached_and_one_when_resolved(quiet):
    for number, (metric, (used, what)) in enumerate(AT_A_LIMIT.items()):
        before, at = len(await sent(quiet)), 10 * number
        limit = LIMITS["free"][metric].limit
        over = Advice(at + 1, "over", metric, {metric: Measured("over", limit, used, day_number("2026-11-20"), None)})
        await set_advice_and_run(quiet, over)
        [(subject, text)] = (await sent(quiet))[before:]
        assert "limit" in subject, metric
        assert what in text, metric
        # If the usage cannot be read, the problem does not count as resolved.
        await set_advice_and_run(quiet, Advice(at + 2, "ok", unavailable=("analytics",)))
        await set_advice_and_run(quiet, replace(over, at=at + 3))
        assert len(await sent(quiet)) == before + 1, metric
        await set_advice_and_run(quiet, Advice(at + 4, "ok"))
        subjects = [subject for subject, _ in await sent(quiet)][before + 1 :]
        assert subjects == [f"{(await quiet.account()).name} is healthy again"], metric


@pytest.mark.rule("X13", "A24")
@pytest.mark.parametrize(
    ("days", "age_days", "suggested"),
    [
        (15, 0, "Keep breakdowns for fewer days"),
        (14, 0, "Upgrade your Cloudflare plan"),
        (14, 300, "Keep breakdowns for fewer months"),
    ],
    ids=["days", "neither", "months"],
)
async def test_email_about_the_size_suggests_a_setting_that_can_be_lowered(quiet, days, age_days, suggested):
    account = await quiet.account()
    await quiet.store.run(accounts.change_account(account.id, quiet.clock(), days_kept=days))
    limit = LIMITS["free"]["size"].limit
    size: dict[Metric, Measured] = {"size": Measured("over", limit, 412_900_000, day_number("2026-11-20"), None)}
    at = account.created_at + age_days * DAY_MS
    await set_advice_and_run(quiet, Advice(at, "over", "size", size, suggest="shorter_hourly_retention"))
    [(_, text)] = await sent(quiet)
    assert suggested in text
    assert text.count("Keep breakdowns") == suggested.count("Keep breakdowns")
    assert "your Cloudflare plan" in text


async def set_advice_and_run(service, advice):
    """Store this advice for the account, and run its duties a while later."""
    account = await service.account()
    await service.store.run(keep_advice(account.id, advice, account.settings.plan, due_at=service.clock() + DAY_MS))
    await set_state_and_run(service, "ready")


@pytest.mark.rule("X13", "A24")
async def test_unavailable_advice_is_not_a_problem(quiet):
    await set_advice_and_run(quiet, Advice(1, "ok", unavailable=("analytics", "size")))
    assert await sent(quiet) == []


@pytest.mark.rule("X13")
async def test_transient_and_short_problems_are_not_reported(quiet):
    await set_state_and_run(quiet, "permission_error", "token_refused")
    await set_state_and_run(quiet, "resource_drift", "resource_drift", at_once=True)
    quiet.clock.advance_s(AFTER_S - 1)
    await run_duties(quiet)
    await set_state_and_run(quiet, "ready")
    await set_state_and_run(quiet, "installing")
    assert await sent(quiet) == []


@pytest.mark.rule("X13")
async def test_flapping_problem_is_reported_once(quiet):
    await set_state_and_run(quiet, "revoked", "revoked")
    for _ in range(5):
        await set_state_and_run(quiet, "ready", at_once=True)
        quiet.clock.advance_s(AFTER_S / 2)
        await set_state_and_run(quiet, "revoked", "revoked", at_once=True)
        quiet.clock.advance_s(AFTER_S / 2)
    assert len(await sent(quiet)) == 1
    await set_state_and_run(quiet, "ready")
    assert len(await sent(quiet)) == 2


@pytest.mark.rule("X13")
async def test_problem_that_turns_into_another_is_reported_twice_and_resolved_once(quiet):
    await set_state_and_run(quiet, "permission_error", "permission_error")
    await set_state_and_run(quiet, "revoked", "revoked")
    assert len(await sent(quiet)) == 2
    await set_state_and_run(quiet, "ready")
    quiet.clock.advance_s(AFTER_S)
    await run_duties(quiet)
    assert [subject.endswith("is healthy again") for subject, _ in await sent(quiet)] == [False, False, True]


@pytest.mark.rule("X13")
async def test_disabled_notifications_are_not_sent_later(quiet):
    await notify(quiet, wanted=False)
    await set_state_and_run(quiet, "revoked", "revoked")
    await notify(quiet, wanted=True)
    await set_state_and_run(quiet, "revoked", "revoked")
    await set_state_and_run(quiet, "ready")
    assert await sent(quiet) == []
    await set_state_and_run(quiet, "revoked", "revoked")
    assert len(await sent(quiet)) == 1


@pytest.mark.rule("X13")
async def test_disabling_notifications_drops_queued_emails(quiet):
    with mail_away(quiet):
        await set_state_and_run(quiet, "revoked", "revoked")
        # wait until no email is being sent, because an email that is being sent would not be deleted
        await quiet.world.outbox.settled()
        await notify(quiet, wanted=False)
        await notify(quiet, wanted=True)
    await set_state_and_run(quiet, "ready")
    assert await sent(quiet) == []


@contextmanager
def mail_away(service):
    """Make the mail folder unwritable, so that emails stay queued."""
    folder = service.world.mail_folder
    folder.write_text("in the way")
    yield
    folder.unlink()
    service.clock.advance_s(AFTER_S)


@pytest.mark.rule("X13")
async def test_queued_email_is_not_sent_to_a_disabled_user(quiet):
    with mail_away(quiet):
        await set_state_and_run(quiet, "revoked", "revoked")
        await quiet.world.outbox.settled()
        await quiet.store.run(disable_user(quiet.user.id))
    await quiet.world.outbox.settled()
    assert await sent(quiet) == []


def unconfirmed(user_id):
    yield sql("update users set email_confirmed = 0 where id = $1", user_id)


@pytest.mark.rule("X13")
@pytest.mark.parametrize("change", [unconfirmed, disable_user])
async def test_unconfirmed_or_disabled_user_gets_no_email(quiet, change):
    await quiet.store.run(change(quiet.user.id))
    await set_state_and_run(quiet, "revoked", "revoked")
    assert await sent(quiet) == []


@pytest.mark.rule("X13")
async def test_problem_is_reported_on_time_after_a_restart(place):
    place.timing |= {"health_every_s": 86_400}
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        await set_state_and_run(service, "revoked", "revoked", at_once=True)
        account = await service.account()
        assert account.notice_due_at == service.clock() + AFTER_S * 1000
    place.clock.advance_s(AFTER_S)
    async with place.running() as service:

        async def poll():
            return await sent(service) or None

        assert len(await eventually(poll)) == 1


@pytest.mark.rule("X13")
async def test_queued_emails_are_sent_in_order_and_dropped_once_unwanted(place):
    """The emails cannot be written. Two are queued, and the second is waiting for the first."""
    place.timing |= {"health_every_s": 86_400}
    (place.folder / "mail").touch()
    async with place.running() as service:
        await service.ready()
        await service.confirmed()
        await service.idle()
        await set_state_and_run(service, "revoked", "revoked")
        await set_state_and_run(service, "ready")
        await service.world.outbox.settled()
        (place.folder / "mail").unlink()
        service.clock.advance_s(3_600)
        assert [subject.endswith("is healthy again") for subject, _ in await sent(service)] == [False, True]


@pytest.mark.parametrize(
    ("before", "problems", "seen", "news", "due_at"),
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
def test_next_step_of_the_notifications(before, problems, seen, news, due_at):
    step = next_step(before, dict.fromkeys(problems), 100, 10)
    assert (step.seen, step.news, step.due_at, step.well) == (seen, news, due_at, not seen)

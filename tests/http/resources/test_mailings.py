"""Email reports: settings, and the page on which recipients confirm and unsubscribe."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import DAY_MS, day_of, day_text, iso
from svc.http.resources.recipients import _OWN_NETWORK
from svc.ids import new_id
from svc.store import alerts, mailing_schedule, outbox, sites
from svc.store.report_periods import next_due_day, period_due
from svc.store.tx import sql
from tests.clock import START_MS
from tests.mail.alerts import alert_of
from tests.mail.reports import facts_of
from tests.store.direct_changes import disable_site
from tests.store.makers import new_site

if TYPE_CHECKING:
    from svc.store.report_periods import ReportPeriod
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

pytestmark = [pytest.mark.rule("Y14"), pytest.mark.both_engines]

ANN, BOB = "ann@example.org", "bob@example.org"
BROWSER = {"Accept": "text/html,application/xhtml+xml"}
ONE_CLICK = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
async def place(world: World) -> Any:
    user, session, account = await world.ready()
    site = new_site(user.id, account.id)
    await world.store.run(_add(site))
    return user, session, account, site


def _add(site: Any) -> Tx[None]:
    yield from sites.add_site(site, 10)


async def put(world: World, session: dict[str, str], site_id: str, *emails: str, **more: Any) -> Response:
    body = {"weekly": True, "monthly": False, "recipients": [{"email": email} for email in emails]} | more
    return await world.call("PUT", f"/v1/sites/{site_id}/mailings", body, headers=session)


async def shown(world: World, session: dict[str, str], site_id: str) -> Any:
    return (await world.call("GET", f"/v1/sites/{site_id}/mailings", headers=session)).body["mailings"]


async def states(world: World, session: dict[str, str], site_id: str) -> dict[str, str]:
    return {one["email"]: one["state"] for one in (await shown(world, session, site_id))["recipients"]}


async def links_to(world: World, address: str) -> list[str]:
    """Return the paths of the pages to which the emails to this address link, oldest first."""
    sent = [text for text in await world.inbox() if f"To: {address}" in text]
    return [re.findall(r"List-Unsubscribe: <https://svc\.example(/m/\w+)/unsubscribe>", text)[0] for text in sent]


async def test_settings_without_reports(world, place):
    _, session, account, site = place
    for path in (f"/v1/sites/{site.id}/mailings", f"/v1/accounts/{account.id}/mailings"):
        assert (await world.call("GET", path, headers=session)).body == {
            "mailings": {
                "weekly": False, "monthly": False, "alerts": False, "next_weekly_on": None, "next_monthly_on": None,
                "recipients": [],
            }
        }  # fmt: skip


async def test_settings_are_stored_and_shown(world, place):
    _, session, account, site = place
    recipients = [{"email": "Ann@Example.org", "language": "de"}, {"email": BOB}, {"email": ANN, "language": "en"}]
    response = await put(world, session, site.id, monthly=True, recipients=recipients)
    today = day_of(world.clock())
    assert response.body["mailings"] == {
        "weekly": True,
        "monthly": True,
        "alerts": False,
        "next_weekly_on": day_text(next_due_day("weekly", today)),
        "next_monthly_on": day_text(next_due_day("monthly", today)),
        "recipients": [
            {"email": ANN, "language": "en", "state": "unconfirmed", "confirmation_sent_at": iso(START_MS)},
            {"email": BOB, "language": "en", "state": "unconfirmed", "confirmation_sent_at": iso(START_MS)},
        ],
    }
    assert await shown(world, session, site.id) == response.body["mailings"]
    other = await world.call("GET", f"/v1/accounts/{account.id}/mailings", headers=session)
    assert other.body["mailings"]["recipients"] == []


@pytest.mark.rule("Y15")
async def test_alerts_are_off_unless_a_request_turns_them_on(world, place):
    _, session, account, site = place
    assert (await put(world, session, site.id, alerts=True)).body["mailings"]["alerts"] is True
    assert (await shown(world, session, site.id))["alerts"] is True
    other = await world.call("GET", f"/v1/accounts/{account.id}/mailings", headers=session)
    assert other.body["mailings"]["alerts"] is False
    assert (await put(world, session, site.id)).body["mailings"]["alerts"] is False
    assert (await shown(world, session, site.id))["alerts"] is False


@pytest.mark.parametrize(
    ("body", "path", "code"),
    [
        ({"recipients": [{"email": f"p{n}@example.org"} for n in range(21)]}, "recipients", "too_many"),
        ({"recipients": [{"email": "no address"}]}, "recipients.0.email", "not_email"),
        ({"recipients": [{"email": ANN, "language": "fr"}]}, "recipients.0.language", "not_offered"),
        ({"recipients": [{"email": ANN, "state": "confirmed"}]}, "recipients.0.state", "unknown"),
        ({"alerts": "yes"}, "alerts", "not_boolean"),
        ({"alert": True}, "alert", "unknown"),
        ({"weekly": None}, "weekly", "not_boolean"),
    ],
)
async def test_invalid_settings_are_rejected(world, place, body, path, code):
    _, session, _, site = place
    response = await put(world, session, site.id, **body)
    assert response.status == 400
    assert [(one["path"], one["code"]) for one in response.body["error"]["details"]["issues"]] == [(path, code)]
    assert await world.inbox() == []


async def test_key_needs_the_scope_of_reports_too(world, place):
    user, session, account, site = place
    for kind, target in (("sites", site.id), ("accounts", account.id)):
        path, body = f"/v1/{kind}/{target}/mailings", {"weekly": True, "monthly": False, "recipients": []}
        alone = await world.call("PUT", path, body, headers=await world.key(user, kind))
        assert (alone.status, alone.body["error"]["details"]["scopes"]) == (403, ["reports"])
        both = await world.call("PUT", path, body, headers=await world.key(user, kind, "reports"))
        assert both.status == 200
    assert (await shown(world, session, site.id))["weekly"]


async def test_deleted_site_accepts_no_settings(world, place):
    _, session, account, site = place
    await put(world, session, site.id, ANN)
    await world.store.run(_delete(account.id, site.id))
    assert (await put(world, session, site.id, ANN)).code == "site_not_active"
    assert (await shown(world, session, site.id))["recipients"] == []


def _delete(account_id: str, site_id: str) -> Tx[None]:
    yield from sites.delete_site(account_id, site_id)


async def test_recipient_confirms_and_unsubscribes_on_its_page(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN)
    [page] = await links_to(world, ANN)
    first = await world.call("GET", page, headers=BROWSER)
    text = first.raw.decode()
    assert first.status == 200
    assert "Do you want to get email reports about shop.example.com at ann@example.org?" in text
    assert text.count(f'action="{page}/') == 2
    assert await states(world, session, site.id) == {ANN: "unconfirmed"}  # a GET request changes nothing
    confirmed = await world.call("POST", f"{page}/confirm", headers=BROWSER)
    assert "ann@example.org gets email reports about shop.example.com." in confirmed.raw.decode()
    assert await states(world, session, site.id) == {ANN: "confirmed"}
    ended = await world.call("POST", f"{page}/unsubscribe", headers=BROWSER)
    assert "ann@example.org gets no email reports about shop.example.com." in ended.raw.decode()
    assert await states(world, session, site.id) == {ANN: "unsubscribed"}
    assert "Subscribe again" in (await world.call("GET", page, headers=BROWSER)).raw.decode()
    events = (await world.call("GET", "/v1/events?order=oldest", headers=session)).body["events"]
    assert [(one["action"], one["via"], one["ip"], one["target"]) for one in events[-3:]] == [
        ("mailing.change", "session", None, site.id),
        ("mailing.confirm", "mail", None, site.id),
        ("mailing.unsubscribe", "mail", None, site.id),
    ]


@pytest.mark.parametrize(
    ("settings", "emails"),
    [
        ({}, "email reports"),
        ({"weekly": False, "alerts": True}, "email alerts"),
        ({"monthly": True, "alerts": True}, "email reports and alerts"),
    ],
)
async def test_confirmation_and_page_name_alerts_if_they_are_turned_on(world, place, settings, emails):
    _, session, _, site = place
    await put(world, session, site.id, ANN, **settings)
    [page] = await links_to(world, ANN)
    [text] = [text for text in await world.inbox() if f"To: {ANN}" in text]
    assert f"Subject: Confirm {emails} about shop.example.com\n" in text
    asked = (await world.call("GET", page, headers=BROWSER)).raw.decode()
    assert f"Do you want to get {emails} about shop.example.com at {ANN}?" in asked
    confirmed = (await world.call("POST", f"{page}/confirm", headers=BROWSER)).raw.decode()
    assert f"{ANN} gets {emails} about shop.example.com." in confirmed


@pytest.mark.parametrize(
    "request_of",
    [
        {"data": "List-Unsubscribe=One-Click", "headers": ONE_CLICK},
        {"data": b"", "headers": {}},
        {
            "data": b'--b\r\nContent-Disposition: form-data; name="List-Unsubscribe"\r\n\r\nOne-Click\r\n--b--\r\n',
            "headers": {"Content-Type": "multipart/form-data; boundary=b"},
        },
        {"data": "x", "headers": {**ONE_CLICK, "Origin": "https://mail.example", "Sec-Fetch-Site": "cross-site"}},
    ],
)
async def test_mail_client_unsubscribes_with_one_request(world, place, request_of):
    _, session, _, site = place
    await put(world, session, site.id, ANN)
    [page] = await links_to(world, ANN)
    await world.call("POST", f"{page}/confirm")
    for _ in range(2):
        response = await world.call("POST", f"{page}/unsubscribe", **request_of)
        assert response.status == 200
        assert "Set-Cookie" not in response.headers
    assert await states(world, session, site.id) == {ANN: "unsubscribed"}


async def test_body_of_any_type_is_limited(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN)
    [page] = await links_to(world, ANN)
    response = await world.call("POST", f"{page}/unsubscribe", data="x" * 5_000, headers=ONE_CLICK)
    assert (response.status, response.code) == (413, "payload_too_large")
    assert await states(world, session, site.id) == {ANN: "unconfirmed"}


async def test_page_cannot_be_framed_or_cached_and_has_no_scripts(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN)
    [page] = await links_to(world, ANN)
    response = await world.call("GET", page, headers=BROWSER)
    policy = response.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self'" in policy
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["Cache-Control"] == "no-store"
    assert response.headers["X-Robots-Tag"] == "noindex"
    assert "<script" not in response.raw.decode()


async def test_page_is_in_the_language_of_the_recipient(world, place):
    _, session, _, site = place
    await put(world, session, site.id, recipients=[{"email": ANN, "language": "de"}])
    [page] = await links_to(world, ANN)
    assert '<html lang="de">' in (await world.call("GET", page, headers=BROWSER)).raw.decode()
    unknown = f"/m/{new_id('mlt')}"
    german = await world.call("GET", unknown, headers={**BROWSER, "Accept-Language": "de-AT"})
    assert german.status == 404
    assert "Dieser Link ist ungültig" in german.raw.decode()


async def test_name_of_an_account_is_escaped_on_the_page_and_absent_from_the_first_email(world, place):
    user, session, account, _ = place
    name = "<script>alert(1)</script> https://evil.example"
    await world.call("PATCH", f"/v1/accounts/{account.id}", {"name": name}, headers=session)
    body = {"weekly": True, "monthly": False, "recipients": [{"email": ANN}]}
    await world.call("PUT", f"/v1/accounts/{account.id}/mailings", body, headers=session)
    [page] = await links_to(world, ANN)
    assert "evil.example" not in "".join(await world.inbox())
    assert user.email in "".join(await world.inbox())
    text = (await world.call("GET", page, headers=BROWSER)).raw.decode()
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text


async def test_unknown_tokens_are_limited_per_network_and_known_tokens_are_not(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN)
    [page] = await links_to(world, ANN)

    async def ask(path: str, client: str) -> int:
        response = await world.call(
            "POST", f"{path}/unsubscribe", headers={"X-Forwarded-For": client}, scope_base={"client": ("10.0.0.1", 1)}
        )
        return int(response.status)

    for _ in range(_OWN_NETWORK + 5):
        assert await ask(page, "198.51.100.7") == 200
    unknown = [await ask(f"/m/{new_id('mlt')}", "198.51.100.7") for _ in range(_OWN_NETWORK + 1)]
    assert unknown == [404] * _OWN_NETWORK + [429]
    assert await ask(page, "198.51.100.7") == 429
    assert await ask(page, "203.0.113.9") == 200


async def test_report_is_sent_to_confirmed_recipients_only(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN, BOB)
    [page] = await links_to(world, ANN)
    [other] = await links_to(world, BOB)
    await world.call("POST", f"{page}/confirm")
    period = await queue(world, site.id)
    sent = [text for text in await world.inbox() if "Weekly report" in text]
    assert len(sent) == 1
    assert f"To: {ANN}" in sent[0]
    report_link = (await links_to(world, ANN))[-1]
    assert report_link != page
    await world.call("POST", f"{other}/confirm")
    await world.store.run(_enqueue(site.id, period, START_MS + 20 * DAY_MS))
    await world.call("POST", f"{report_link}/unsubscribe", data="List-Unsubscribe=One-Click", headers=ONE_CLICK)
    assert await states(world, session, site.id) == {ANN: "unsubscribed", BOB: "confirmed"}


async def queue(world: World, site_id: str) -> ReportPeriod:
    period = period_due("weekly", next_due_day("weekly", day_of(world.clock())))
    await world.store.run(_enqueue(site_id, period, world.clock()))
    return period


def _enqueue(site_id: str, period: ReportPeriod, now: int) -> Tx[int | None]:
    return (yield from mailing_schedule.enqueue(site_id, period, facts_of("weekly"), now))


async def test_recipient_that_unsubscribes_gets_no_report_that_is_already_queued(world, place):
    _, session, _, site = place
    await put(world, session, site.id, ANN, BOB)
    [page], [other] = await links_to(world, ANN), await links_to(world, BOB)
    for each in (page, other):
        await world.call("POST", f"{each}/confirm")
    await world.store.run(_queue_late(site.id))
    await world.call("POST", f"{page}/unsubscribe")
    await put(world, session, site.id, ANN)  # BOB is removed
    world.clock.now_ms += DAY_MS
    assert [text for text in await world.inbox() if "Weekly report" in text] == []
    assert await world.store.read(_waiting()) == 0


def _queue_late(site_id: str) -> Tx[None]:
    """Queue a report whose emails are due in an hour."""
    period = period_due("weekly", next_due_day("weekly", day_of(START_MS)))
    assert (yield from _enqueue(site_id, period, START_MS)) == 2
    yield sql("update outbox set due_at = due_at + 3600000 where kind = 'report'")


def _waiting() -> Tx[int]:
    [row] = yield sql("select count(*) as n from outbox")
    return int(row["n"])


async def test_owner_gets_a_link_to_the_report_and_others_do_not(world, place):
    user, session, _, site = place
    await put(world, session, site.id, user.email, ANN)
    [page] = await links_to(world, ANN)
    await world.call("POST", f"{page}/confirm")
    await queue(world, site.id)
    sent = {address: text for text in await world.inbox() for address in (user.email, ANN)
            if f"To: {address}" in text and "Weekly report" in text}  # fmt: skip
    assert f"https://svc.example/sites/{site.id}" in sent[user.email]
    assert "/sites/" not in sent[ANN]


async def test_disabled_user_sends_no_emails(world, place):
    user, session, _, site = place
    await put(world, session, site.id, user.email)
    await world.store.run(_disable(user.id))
    await queue(world, site.id)
    assert await world.inbox() == []


def _disable(user_id: int) -> Tx[None]:
    yield sql("update users set disabled_at = $2 where id = $1", user_id, START_MS)


async def confirmed_alerts(world: World, session: dict[str, str], site_id: str, *emails: str) -> None:
    """Turn alerts on for these addresses, and confirm them."""
    await put(world, session, site_id, *emails, alerts=True)
    for email in emails:
        for page in await links_to(world, email):
            await world.call("POST", f"{page}/confirm")


def _queue_alerts(site_id: str, account_id: str, wait_ms: int = 0) -> Tx[None]:
    """Queue an alert for each confirmed recipient, as `alerts.send` does."""
    found = yield from alerts.recipients(site_id, account_id)
    for each in found:
        facts = {"recipient": each["id"], "alert": alert_of("silence", site=site_id)}
        now = START_MS + wait_ms
        yield from outbox.post("alert", each["email"], now, now + DAY_MS, user_id=each["user_id"], facts=facts)


@pytest.mark.rule("Y15")
async def test_alert_is_sent_with_a_link_that_ends_all_emails(world, place):
    user, session, account, site = place
    await confirmed_alerts(world, session, site.id, user.email, ANN)
    await world.store.run(_queue_alerts(site.id, account.id))
    sent = {address: text for text in await world.inbox() for address in (user.email, ANN)
            if f"To: {address}" in text and "No views" in text}  # fmt: skip
    assert f"https://svc.example/sites/{site.id}" in sent[user.email]
    assert "/sites/" not in sent[ANN]
    link = (await links_to(world, ANN))[-1]
    await world.call("POST", f"{link}/unsubscribe", data="List-Unsubscribe=One-Click", headers=ONE_CLICK)
    assert (await states(world, session, site.id))[ANN] == "unsubscribed"
    await world.store.run(_queue_alerts(site.id, account.id))
    assert len([text for text in await world.inbox() if f"To: {ANN}" in text and "No views" in text]) == 1


@pytest.mark.rule("Y15")
@pytest.mark.parametrize("change", ["unsubscribed", "alerts off", "removed", "site disabled", "site deleted"])
async def test_queued_alert_that_is_no_longer_wanted_is_not_sent(world, place, change):
    _, session, account, site = place
    await confirmed_alerts(world, session, site.id, ANN)
    await world.store.run(_queue_alerts(site.id, account.id, 1_000))
    if change == "unsubscribed":
        [page] = await links_to(world, ANN)
        await world.call("POST", f"{page}/unsubscribe")
    elif change == "alerts off":
        await put(world, session, site.id, ANN)
    elif change == "removed":
        await put(world, session, site.id, alerts=True)
    elif change == "site disabled":
        await world.store.run(disable_site(site.id))
    else:
        await world.store.run(sites.delete_site(account.id, site.id))
    world.clock.now_ms += 2_000
    assert [text for text in await world.inbox() if "No views" in text] == []
    assert await world.store.read(_waiting()) == 0

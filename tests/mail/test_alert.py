"""Emails with alerts: their content as text and as HTML, and the headers with which recipients unsubscribe."""

from __future__ import annotations

import email.policy
from typing import Any, get_args

import pytest

from svc.identity.operator import DEFAULT_IDENTITY
from svc.mail.alert import alert_email
from svc.mail.messages import WORDS
from svc.mail.report import Addressee
from svc.mail.transport import _READABLE, _WIRE, message_of
from svc.model import LANGUAGES, AlertKind, SnippetOnPage
from tests.mail.alerts import alert_of, every_alert
from tests.mail.test_report import LINK, SERVICE, URL, Tags

pytestmark = pytest.mark.rule("Y15")


def alert(kind: AlertKind, language: Any = "en", report_url: str | None = None, **more: Any) -> Any:
    return alert_email(alert_of(kind, **more), Addressee("ann@example.com", language, LINK, report_url), SERVICE)


def test_text_of_silence() -> None:
    sent = alert("silence", report_url=f"{URL}/sites/site_1")
    assert sent.subject == "No views: shop.example"
    assert sent.text.split("\n\n") == [
        (
            "shop.example had no views from November 23, 2026, 22:00 UTC to November 24, 2026, 03:00 UTC. Usually,"
            " there are about 1,234 views at this time of the week."
        ),
        (
            "We requested https://shop.example/ and did not find the snippet in the page. Add the snippet to the pages"
            " again. If a tag manager adds it, check the tag manager."
        ),
        "You will not get another alert while the number of views remains unusual.",
        "View the report:",
        f"{URL}/sites/site_1",
        (
            f"You get this email because ann@example.com is subscribed to alerts about shop.example at {URL}. To"
            " unsubscribe from all reports and alerts, open this link:"
        ),
        LINK,
    ]


def test_german_alert_has_german_formats() -> None:
    sent = alert("spike", "de")
    assert sent.subject == "Viel mehr Aufrufe als üblich: shop.example"
    assert sent.text.startswith(
        "shop.example hatte vom 23. November 2026, 22:00 Uhr (UTC) bis zum 23. November 2026, 23:00 Uhr (UTC) 12.345"
        " Aufrufe. Zu dieser Zeit der Woche sind etwa 1.234 Aufrufe üblich."
    )


def test_site_without_usual_views_is_described_in_words() -> None:
    assert "Views are rare at this time of the week." in alert("spike", usual=0).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_alert_has_texts(language: Any) -> None:
    texts = WORDS[language].alert
    assert set(texts.subjects) == set(texts.counts) == set(get_args(AlertKind))
    assert set(texts.snippet) == set(get_args(SnippetOnPage))
    for name, facts in every_alert():
        sent = alert_email(facts, Addressee("ann@example.com", language, LINK, None), SERVICE)
        body = message_of("svc@example.com", sent, _READABLE, DEFAULT_IDENTITY).get_body(("html",))
        assert body is not None
        tags = Tags(body.get_content())
        assert tags.open == [], name
        assert LINK in [attributes["href"] for tag, attributes in tags.found if tag == "a"], name
        assert "{" not in sent.subject + sent.text, name
        assert facts["host"] in sent.subject, name


def test_unsubscribe_headers_are_those_of_rfc_8058() -> None:
    raw = message_of("svc@example.com", alert("drop"), _WIRE).as_bytes()
    read = email.message_from_bytes(raw, policy=email.policy.default)
    assert read["List-Unsubscribe"] == f"<{LINK}/unsubscribe>"
    assert read["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"

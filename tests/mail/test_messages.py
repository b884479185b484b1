"""Every email in every language is complete, and correctly formatted and encoded."""

from __future__ import annotations

import email.header
import email.policy
import email.utils
import random
import re
from dataclasses import fields
from email.message import EmailMessage
from string import Formatter
from typing import TYPE_CHECKING, Any, get_args

import pytest

from edge_worker.harness.sampling import EVERYTHING, SEED
from svc.clock import day_number
from svc.errors import CATALOGUE, QUOTES
from svc.german.errors import GERMAN_ERRORS
from svc.identity.links import operator_links
from svc.identity.operator import Identity
from svc.mail import messages
from svc.mail.alert import alert_email
from svc.mail.messages import WORDS, Link, Service
from svc.mail.report import Addressee, report_email
from svc.mail.transport import _READABLE, _WIRE, message_of
from svc.mail.words import Formats, Problem, TargetKind
from svc.model import LANGUAGES, TARGET_PROBLEMS, BrokenTarget, MailingContent, Metric
from svc.remaining_resource import LeftKind, LeftWhy, RemainingResource
from svc.store.broken_targets import BrokenLink
from tests.mail.alerts import every_alert
from tests.mail.reports import every_report

if TYPE_CHECKING:
    from collections.abc import Iterator
    from email.policy import EmailPolicy

    from svc.mail.messages import Email
    from svc.model import Language

ANN, NAME, URL = "ann@example.com", "Läden & Söhne", "https://svc.example"
LINK = Link(f"{URL}/confirm?token=svm_x", 24)
SERVICE = Service(URL, "ACME & Söhne")
PAGE = f"{URL}/accounts/acc_1"
DAY = day_number("2026-11-20")
FACTS = {
    "route": "shop.example/a*", "host": "shop.example", "worker": "svc-edge", "database": "svc-edge", "token": "svc-op",
    "said": "10000", "holder": "x", "until": "2026-11-21T10:05:00.000Z", "account": "Shop (03)",
}  # fmt: skip
# Words that no German text contains.
ENGLISH = re.compile(
    r"\b(the|your|you|this|is|and|of|or|with|to|it|expires|email|account|needs|had|its)\b", re.IGNORECASE
)
# The parts of a German text that may be in English: quoted names and messages from Cloudflare, URLs, API paths and
# email addresses.
NOT_TEXT = re.compile(r"„[^“]*“|https?://\S+|/v1/\S+|\b\S+@\S+\b")


def every_email(language: Language) -> Iterator[tuple[str, Email]]:
    yield "confirm", messages.confirm_address(language, ANN, LINK, SERVICE)
    yield "choose password", messages.choose_password(language, ANN, LINK, SERVICE)
    yield "reset", messages.reset_password(language, ANN, LINK, SERVICE)
    yield "account exists", messages.account_exists(language, ANN, SERVICE)
    yield "password changed", messages.password_changed(language, ANN, SERVICE)
    yield "deleted", messages.user_deleted(language, ANN, [], [], SERVICE)
    yield "disconnected", messages.account_disconnected(language, ANN, NAME, [], None, SERVICE)
    for content in get_args(MailingContent):
        for host in ("shop.example", None):
            email = messages.confirm_reports(language, ANN, "bob@example.com", host, URL, SERVICE, content)
            yield f"confirm {content} about {host}", email
    for name, facts in every_report():
        to = Addressee(ANN, language, f"{URL}/m/mlt_x", PAGE)
        yield name, report_email(facts, to, SERVICE)
    for name, alert in every_alert():
        yield name, alert_email(alert, Addressee(ANN, language, f"{URL}/m/mlt_x", PAGE), SERVICE)
    for kind in get_args(LeftKind):
        left = [RemainingResource(kind, why, FACTS) for why in get_args(LeftWhy)]
        yield f"disconnected, {kind} remains", messages.account_disconnected(language, ANN, NAME, left, "op", SERVICE)
        yield f"deleted, {kind} remains", messages.user_deleted(language, ANN, left, ["Shop (03): svc-op"], SERVICE)
    for kind in get_args(TargetKind):
        facts = {"kind": kind, "name": "go.shop.example/sale"}
        yield f"enabled {kind}", messages.about_target(language, ANN, facts, PAGE)
        for reason in ("Phishing", "x" * 5_000, "a\nb\N{RIGHT-TO-LEFT OVERRIDE}c"):
            yield f"disabled {kind}", messages.about_target(language, ANN, {**facts, "reason": reason}, PAGE)
    for problem in TARGET_PROBLEMS:
        target = BrokenTarget("https://shop.example/sale", problem, 1_795_233_600_000, 1_795_233_600_000)
        for host, more in ((None, 0), ("go.shop.example", 0), ("go.shop.example", 1_200)):
            broken = [BrokenLink("sale", host, target)] * (1 if not more else 20)
            yield f"broken target, {problem}", messages.about_broken_targets(language, ANN, broken, more, PAGE)
    for name, notice in every_notice():
        yield name, messages.about_account(language, ANN, NAME, notice, PAGE)


def every_notice() -> Iterator[tuple[str, dict[str, Any]]]:
    yield "well", {"well": True}
    yield "problem of a newer version", {"trouble": "newer", "code": "newer", "message": "10000"}
    for problem in get_args(Problem):
        yield problem, {"trouble": problem}
    for code in CATALOGUE:
        yield f"error {code}", {"trouble": "resource_drift", "code": code, "message": "10000"}
    yield "expiry", {"trouble": "token_expires_soon", "expires_at": 1_795_233_600_000}
    for metric in get_args(Metric):
        limit = {"metric": metric, "used": 104_200_000, "limit": 100_000_000, "day": DAY}
        for suggest in (None, "shorter_hourly_retention", "shorter_month_retention", "newer"):
            yield f"{metric}, {suggest}", {"trouble": "over", "limit": limit, "suggest": suggest}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_email_is_complete(language):
    for name, one in every_email(language):
        assert one.language == language, name
        assert one.subject, name
        assert one.subject[0].isupper(), name
        assert "\n" not in one.subject, name
        text = one.text.replace("/v1/accounts/{id}", "")  # remove the API path that a remedy contains
        assert not re.search(r"[{}]|\bNone\b", one.subject + text), (name, text)
        assert one.text == one.text.strip(), name
        assert not re.search(r"\n{3}| {2}|\.\.|: :|\(\)", one.text), (name, one.text)


def test_german_emails_have_no_english_text():
    for name, one in every_email("de"):
        text = NOT_TEXT.sub("", f"{one.subject}\n{one.text}")
        assert ENGLISH.findall(text) == [], (name, text)
        assert re.search(r"\b(Sie|Ihre?n?|Ihr)\b", text), name


def templates(found: Any, above: str) -> Iterator[tuple[str, str]]:
    """Yield all templates in a language's texts as (key, template) pairs."""
    if isinstance(found, str):
        yield above, found
    elif isinstance(found, dict):
        for name, value in found.items():
            yield from templates(value, f"{above}.{name}")
    elif isinstance(found, tuple):
        names = getattr(found, "_fields", range(len(found)))
        for name, value in zip(names, found, strict=True):
            yield from templates(value, f"{above}.{name}")


def names_in(template: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(template)} - {None}


def test_languages_have_the_same_templates_with_the_same_parameters():
    found = {
        language: {
            key: template
            for each in fields(words)
            if each.name not in ("language", "errors")
            for key, template in templates(getattr(words, each.name), each.name)
        }
        for language, words in WORDS.items()
    }
    english, german = found["en"], found["de"]
    assert german.keys() == english.keys()
    assert len(german) > 150
    # The German texts of findings omit the names of the Worker and the database, because each account has only one
    # Worker and one database.
    own = {"worker", "database"}
    assert [key for key in english if names_in(german[key]) - own != names_in(english[key]) - own] == []
    same = {key for key in english if english[key] and german[key] == english[key] and not key.endswith(".subject")}
    assert same == {"remaining.kinds.worker"}


def test_all_error_codes_have_german_texts_and_the_same_need_for_action():
    assert list(GERMAN_ERRORS) == list(CATALOGUE)
    assert [code for code in CATALOGUE if bool(CATALOGUE[code].remedy) != bool(GERMAN_ERRORS[code].remedy)] == []


def formatted_emails(language: Language) -> Iterator[tuple[str, Email, EmailPolicy]]:
    """Yield every email in both formats (file and SMTP). In `make test`, yield each email in only one format, chosen
    at random.
    """
    policies = [_READABLE, _WIRE]
    for number, (name, one) in enumerate(every_email(language)):
        for policy in policies if EVERYTHING else [random.Random(f"{SEED} {number}").choice(policies)]:
            yield name, one, policy


@pytest.mark.parametrize("language", LANGUAGES)
def test_headers_and_parts_are_encoded(language):
    for name, one, policy in formatted_emails(language):
        raw = message_of("svc@example.com", one, policy).as_bytes()
        head, _, body = raw.replace(b"\r\n", b"\n").partition(b"\n\n")
        assert head.isascii(), name  # RFC 2047 requires ASCII
        assert policy is not _WIRE or body.isascii(), name
        assert all(len(line) <= 998 for line in raw.split(b"\n")), name
        read = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(read, EmailMessage)
        assert str(read["Subject"]) == one.subject, name
        assert str(read["Content-Language"]) == language
        assert not read.defects
        assert not read["Subject"].defects
        plain, page = (read.get_body((kind,)) for kind in ("plain", "html"))
        assert plain is not None
        assert page is not None
        assert {part.get_content_charset() for part in (plain, page)} == {"utf-8"}
        assert plain.get_content().split() == one.text.split(), name
        assert f'<html lang="{language}">' in page.get_content()


@pytest.mark.parametrize("policy", [_READABLE, _WIRE])
def test_long_subject_has_the_same_spaces_after_folding(policy):
    for length in range(80):
        subject = f"Problem mit dem Konto {'x' * length}: Das Arbeits-Token wurde gelöscht oder deaktiviert"
        one = messages.Email("ann@example.com", subject, "Text")
        raw = message_of("svc@example.com", one, policy).as_bytes()
        assert str(email.message_from_bytes(raw, policy=email.policy.default)["Subject"]) == subject
        assert max(map(len, raw.partition(b"MIME-Version")[0].splitlines())) <= 78


@pytest.mark.parametrize(
    ("language", "shown"),
    [
        ("en", ["1 hour", "24 hours", "0.5 hours", "1,234.5 hours", "November 20, 2026", "March 1, 2027"]),
        ("de", ["1 Stunde", "24 Stunden", "0,5 Stunden", "1.234,5 Stunden", "20. November 2026", "1. März 2027"]),
    ],
)
def test_numbers_and_dates_are_those_of_the_language(language, shown):
    words = WORDS[language]
    hours = [words.duration(hours) for hours in (1, 24.0, 0.5, 1234.5)]
    assert [*hours, words.day(DAY), words.day(day_number("2027-03-01"))] == shown
    assert isinstance(words.formats, Formats)
    assert len(set(words.formats.months)) == 12


@pytest.mark.parametrize(
    ("name", "value", "english", "german"),
    [
        ("at", "2026-11-21T09:05:59.999Z", "November 21, 2026, 09:05 UTC", "21. November 2026, 09:05 Uhr (UTC)"),
        ("until", "2026-11-21T10:00:00+00:00", "November 21, 2026, 10:00 UTC", "21. November 2026, 10:00 Uhr (UTC)"),
        # a time without a time zone is not changed
        ("since", "2026-11-21T10:00:00", "2026-11-21T10:00:00", "2026-11-21T10:00:00"),
        ("since", "2026-11-21T10:00:00+01:00", "2026-11-21T10:00:00+01:00", "2026-11-21T10:00:00+01:00"),
        ("until", "soon", "soon", "soon"),
        ("host", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z", "2026-11-21T10:00:00Z"),
    ],
)
def test_times_are_formatted_and_other_facts_are_not(name, value, english, german):
    assert (WORDS["en"].fact(name, value), WORDS["de"].fact(name, value)) == (english, german)


def about(language: Language, **notice: Any) -> str:
    return " ".join(messages.about_account(language, ANN, NAME, notice, PAGE).text.split())


def test_limit_has_the_numbers_and_the_date_of_the_language():
    limit = {"metric": "requests", "used": 104_200, "limit": 100_000, "day": DAY}
    english, german = (about(language, trouble="over", limit=limit) for language in LANGUAGES)
    assert "received 104,200 requests on November 20, 2026; the plan allows 100,000 a day" in english
    assert (
        "Am 20. November 2026 haben die Worker des Kontos 104.200 Anfragen verarbeitet; der Tarif erlaubt 100.000 pro"
        " Tag." in german
    )
    size = {**limit, "metric": "size", "used": 5_412_900_000, "limit": 10_000_000_000}
    assert "belegt 5.412 MB von 10.000 MB" in about("de", trouble="over", limit=size)


def test_finding_is_a_sentence_of_the_language():
    finding = {
        "kind": "token_expired",
        "variant": "",
        "refusal": "",
        "facts": {"at": "2026-11-21T10:00:00.000Z", "worker": "svc-edge", "database": "svc-edge"},
    }
    notice = {"trouble": "revoked", "code": "revoked", "message": "The working token expired.", "finding": finding}
    assert "The working token expired on November 21, 2026, 10:00 UTC." in about("en", **notice)
    assert "Das Arbeits-Token ist abgelaufen: 21. November 2026, 10:00 Uhr (UTC)." in about("de", **notice)
    changed = {**finding, "kind": "script_changed", "refusal": "Not now"}
    assert "Der Worker wurde außerhalb des Dienstes geändert; die Reparatur wurde abgelehnt: Not now." in about(
        "de", **{**notice, "finding": changed}
    )


@pytest.mark.parametrize("broken", [{"kind": "newer", "facts": {}}, {"kind": "token_expired", "facts": {}}, {}])
def test_finding_of_another_version_becomes_the_text_of_its_code(broken):
    finding = {"variant": "", "refusal": "", **broken} if broken else {"kind": "script_changed"}
    notice = {"trouble": "revoked", "code": "revoked", "message": "It has expired.", "finding": finding}
    assert "It has expired." in about("en", **notice)
    assert GERMAN_ERRORS["revoked"].message in about("de", **notice)


def test_german_email_quotes_cloudflare_only_where_the_remedy_refers_to_it():
    for code in CATALOGUE:
        text = about("de", trouble="resource_drift", code=code, message="Uncaught Error at line 7")
        assert ("(Uncaught Error at line 7)" in text) == (code in QUOTES), code
        assert GERMAN_ERRORS[code].message in text


def test_email_queued_by_an_earlier_version_is_complete():
    message = "The account's workers had 104,200 requests on 2026-11-20; its plan allows 100,000 a day."
    assert message in about("en", trouble="over", message=message, suggest=None)
    german = about("de", trouble="over", message=message, suggest=None)
    assert "requests" not in german
    assert WORDS["de"].problems["over"] in german
    left = "Worker svc-edge: Cloudflare returned an error or could not be reached."
    assert f"- {left}" in messages.user_deleted("de", ANN, [left], [], SERVICE).text


ACME = Identity(
    name='ACME <a@b.example>, "Söhne"',
    contact="help@acme.example",
    imprint_url="https://acme.example/imprint?a=1&b=2",
    privacy_url="https://acme.example/privacy",
    terms_url="https://acme.example/terms",
)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_email_names_the_operator(language):
    for name, one, policy in formatted_emails(language):
        raw = message_of("svc@example.com", one, policy, ACME).as_bytes()
        read = email.message_from_bytes(raw, policy=email.policy.default)
        assert isinstance(read, EmailMessage)
        [sender] = read["From"].addresses
        assert (sender.display_name, sender.addr_spec) == (ACME.name, "svc@example.com"), name
        assert not read["From"].defects
        plain, page = read.get_body(("plain",)), read.get_body(("html",))
        assert plain is not None
        assert page is not None
        for label, url in operator_links(ACME, language):
            assert f"\n{label}: {url.removeprefix('mailto:')}\n" in plain.get_content().replace("\r\n", "\n"), name
        text = page.get_content()
        assert '<a href="https://acme.example/imprint?a=1&amp;b=2">' in text, name
        assert "ACME &lt;a@b.example&gt;, &quot;Söhne&quot;" in text, name
        assert "<img" not in text
        if one.button:
            assert f'text-decoration: none">{one.button}</a></p>' in text, name


NAMES = [
    *("ä" * 40, "日" * 40, "😀" * 40, '"' * 40, "\\" * 40, "a,b;c:d@e", "(x)"),
    'ACME <a@b.example>, "Söhne" und Töchter',
    "Zählwerk für Kurzlinks und für Aufrufe e",
    "ä" + "x" * 22 + " " + "日" * 16,
]


@pytest.mark.parametrize("name", NAMES)
def test_any_valid_name_is_the_sender(name):
    one = messages.reset_password("en", ANN, LINK, Service(URL, name))
    for policy in (_READABLE, _WIRE):
        raw = message_of("svc@example.com", one, policy, Identity(name=name)).as_bytes()
        header = next(line for line in raw.decode().splitlines() if line.startswith("From: "))
        # RFC 2047, sections 2 and 6.2: an encoded word has at most 75 characters. Spaces between words are not part of
        # the name.
        assert all(len(word) <= 75 for word in header.split(" ") if word.startswith("=?"))
        phrase, address = email.utils.parseaddr(header.removeprefix("From: "))
        shown = str(email.header.make_header(email.header.decode_header(phrase)))
        assert (shown, address) == (name, "svc@example.com")
        read = email.message_from_bytes(raw, policy=email.policy.default)
        assert not read["From"].defects
        [sender] = read["From"].addresses
        # Python 3.11 adds a space between encoded words.
        assert (sender.display_name.replace(" ", ""), sender.addr_spec) == (name.replace(" ", ""), "svc@example.com")
        assert str(read["Subject"]) == f"Reset your password for {name}"

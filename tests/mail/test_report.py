"""Email reports: their content as text and as HTML, and the headers with which recipients unsubscribe."""

from __future__ import annotations

import email.policy
import re
from html.parser import HTMLParser
from typing import Any, get_args

import pytest

from svc.identity.operator import DEFAULT_IDENTITY
from svc.mail.messages import Service, confirm_reports
from svc.mail.report import Addressee, report_email
from svc.mail.transport import _READABLE, _WIRE, message_of
from svc.model import LANGUAGES, Language, MailingContent
from tests.mail.reports import MONTH, WEEK, entry, every_report, facts_of, note

pytestmark = pytest.mark.rule("Y14")

URL = "https://svc.example"
LINK = f"{URL}/m/mlt_aaaaaaaaaaaaaaaaaaaa"
SERVICE = Service(URL, "ACME")
# Gmail clips messages that are longer than 102 kB.
MOST_BYTES = 100_000


def report(language: Any = "en", report_url: str | None = None, **more: Any) -> Any:
    return report_email(facts_of("weekly", **more), Addressee("ann@example.com", language, LINK, report_url), SERVICE)


class Tags(HTMLParser):
    """Collects the tags of a page, and checks that they are closed in order."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_text_lists_the_numbers_of_the_period():
    text = report(report_url=f"{URL}/sites/site_1").text
    parts = text.split("\n\n")
    assert parts[0] == "Weekly report for shop.example\nNovember 16, 2026 to November 22, 2026 (UTC)"
    assert parts[1] == (
        "Views: 12,345 (23% more than the 10,000 in the previous period)\n"
        "Visitors: 6,172 (23% more than the 5,000 in the previous period)\n"
        "Filtered bots: 4,115 (23% more than the 3,333 in the previous period)"
    )
    assert parts[2].startswith("Views per day:\n- Mon, November 16, 2026: 0\n- Tue, November 17, 2026: 100\n")
    clicks = (
        "Clicks on short links:\n- go.shop.example/sale: 40 (100% more than the 20 in the previous period)\n"
        "- go.shop.example/new: 7 (no data for the previous period)"
    )
    assert parts[3:8] == [
        "Most viewed pages:\n- /: 9,000\n- /pricing: 1,200\n- Other: 4",
        "Sources:\n- Direct / none: 700\n- Google: 300",
        clicks,
        "Filtered bots by reason:\n- Known bot: 2,000\n- newer: 3",
        "Notes:\n- November 16, 2026: Newsletter",
    ]
    why = f"You get this email because ann@example.com is subscribed to reports about shop.example at {URL}."
    assert parts[8:] == [
        "These numbers are complete: all counts of this period have arrived.",
        "The statement of counts for November 22, 2026 has no differences.",
        "Open report:",
        f"{URL}/sites/site_1",
        f"{why} To unsubscribe, open this link:",
        LINK,
    ]


def test_german_report_has_german_formats():
    sent = report("de")
    assert sent.subject == "Wochenbericht für shop.example: 12.345 Aufrufe"
    assert "16. November 2026 bis 22. November 2026 (UTC)" in sent.text
    assert "Aufrufe: 12.345 (23 % mehr als im Zeitraum davor: 10.000)" in sent.text


@pytest.mark.parametrize(
    ("before", "shown"),
    [
        (None, "no data for the previous period"),
        (0, "no data for the previous period"),
        (100, "as many as in the previous period"),
        (400, "75% fewer than the 400 in the previous period"),
        (50, "100% more than the 50 in the previous period"),
    ],
)
def test_change_is_shown_in_words(before, shown):
    assert f"Views: 100 ({shown})" in report(total=entry("shop.example", 100, before)).text


def test_incomplete_numbers_are_marked():
    assert "complete: all counts" not in report(missing_days=2).text
    assert "Not complete yet: some counts of 2 days have not arrived." in report(missing_days=2).text
    assert "Not complete yet: some counts of one day have not arrived." in report(missing_days=1).text
    assert "could not be read from the Cloudflare account" in report(unavailable="cloudflare", lists={}).text
    assert "has differences" in report(agrees=False).text
    assert "begin on November 18, 2026" in report(listed_from=WEEK.first + 2).text


def test_automatic_note_is_in_the_language_of_the_report():
    notes = [note("route_missing", since="2026-11-17", until="2026-11-18")]
    assert "found missing on November 17, 2026 and restored on November 18, 2026" in report(notes=notes).text
    assert "am 17. November 2026 und wurde am 18. November 2026" in report("de", notes=notes).text


@pytest.mark.parametrize("language", LANGUAGES)
def test_page_works_without_images_scripts_and_external_content(language):
    for name, facts in every_report():
        sent = report_email(facts, Addressee("ann@example.com", language, LINK, None), SERVICE)
        message = message_of("svc@example.com", sent, _READABLE, DEFAULT_IDENTITY)
        body = message.get_body(("html",))
        assert body is not None
        page = body.get_content()
        tags = Tags(page)
        assert tags.open == [], name
        assert {tag for tag, _ in tags.found} <= {
            "html", "head", "meta", "title", "body", "h1", "h2", "p", "table", "tr", "td", "span", "a", "div",
            "br",
        }, name  # fmt: skip
        assert [attributes["href"] for tag, attributes in tags.found if tag == "a"] == [LINK], name
        assert "url(" not in page, name
        assert all(len(line) < 998 for line in page.split("\n")), name
        assert len(message_of("svc@example.com", sent, _WIRE).as_bytes()) < MOST_BYTES, name
        # The page contains the same rows as the text, except for the days in the chart.
        shown = " ".join(tags.text.split())
        lines = [line[2:] for line in sent.text.split("\n") if line.startswith("- ")]
        for line in lines:
            key, _, value = line.partition(": ")
            if not re.match(r"\w{2,3}, ", key):
                for part in (key, *re.split(r" [(]|[)]$", value)):
                    assert part in shown, (name, part)


def test_untrusted_texts_are_escaped_and_truncated():
    [hostile] = [facts for name, facts in every_report() if name == "hostile"]
    sent = report_email(hostile, Addressee("ann@example.com", "en", LINK, None), SERVICE)
    assert "<b>x" not in sent.page
    assert "&lt;b&gt;x" in sent.page
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in sent.page + sent.text + sent.subject
    assert "\n" not in sent.subject
    assert max(len(line) for line in sent.text.split("\n")) < 600


def test_chart_has_a_bar_for_each_day_with_its_height():
    tags = Tags(report(days=[0, 1, 50, 100, 0, 0, 0]).page)
    [chart] = [attributes for tag, attributes in tags.found if tag == "table" and attributes.get("role") == "img"]
    assert "Thu, November 19, 2026: 100" in str(chart["aria-label"])
    heights = [attributes["height"] for tag, attributes in tags.found if tag == "td" and "bgcolor" in attributes]
    assert heights == ["1", "40", "80"]
    month = report_email(facts_of("monthly"), Addressee("ann@example.com", "en", LINK, None), SERVICE).page
    # the first day has no bar, because it had no views
    assert len(re.findall("bgcolor", month)) == MONTH.last - MONTH.first


def test_unsubscribe_headers_are_those_of_rfc_8058():
    for sent in (report(), confirm_reports("en", "ann@example.com", "bob@example.com", "a.example", LINK, SERVICE)):
        for policy in (_READABLE, _WIRE):
            raw = message_of("svc@example.com", sent, policy).as_bytes()
            read = email.message_from_bytes(raw, policy=email.policy.default)
            assert read["List-Unsubscribe"] == f"<{LINK}/unsubscribe>"
            assert read["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_confirmation_does_not_show_a_name_that_the_user_chose():
    sent = confirm_reports("en", "ann@example.com", "bob@example.com", None, LINK, SERVICE)
    assert sent.subject == "Confirm email reports about several sites"
    assert sent.text.startswith("bob@example.com wants to send you email reports about several sites")


@pytest.mark.parametrize(
    ("language", "reports", "alerts"), [("en", "reports", "alert"), ("de", "Berichte", "Warnung")], ids=["en", "de"]
)
def test_confirmation_names_what_the_recipient_would_get(language: Language, reports: str, alerts: str) -> None:
    for content in get_args(MailingContent):
        sent = confirm_reports(language, "ann@example.com", "bob@example.com", "a.example", LINK, SERVICE, content)
        message = email.message_from_bytes(message_of("svc@example.com", sent).as_bytes(), policy=email.policy.default)
        bodies = [message.get_body([kind]) for kind in ("plain", "html")]
        for text in (sent.subject, *(body.get_content() for body in bodies if body is not None)):
            assert (reports in text) == (content != "alerts"), (content, text)
            assert (alerts in text) == (content != "reports"), (content, text)
        assert None not in bodies

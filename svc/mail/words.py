"""Types for the texts of emails in one language, and for the language's number and date formats.

The texts are in `english.py` and `german.py`. Templates have named parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from svc import finding, remaining_resource
from svc.clock import day_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code
    from svc.model import (
        AlertKind,
        Language,
        MailingContent,
        MailingKind,
        Metric,
        NoteKind,
        SnippetOnPage,
        Suggestion,
        TargetProblem,
    )
    from svc.note_texts import NoteText

# The account problems that are reported by email. All except the last two are account states.
Problem = Literal["revoked", "permission_error", "resource_drift", "no_connection", "token_expires_soon", "over"]

TargetKind = Literal["site", "link"]

_MOMENTS = (*finding.MOMENTS, *remaining_resource.MOMENTS)


class Text(NamedTuple):
    """The subject and the text of an email, and the label of its link in HTML."""

    subject: str
    text: str
    button: str = ""


class ReportWords(NamedTuple):
    """The texts of email reports.

    `titles`: the titles of reports, by kind. `more`, `less`, `same`: how a count has changed since the previous period.
    `no_before`: the text if there were no counts in the previous period. `weekdays`: Monday first. `names`: the
    displayed names of keys in lists. `reasons`: the displayed names of the reasons in the list of bots. `missing_day`,
    `missing_days`: sentences about days with incomplete counts. `agrees`, `differs`: the result of the statement of
    counts for the last day.
    """

    titles: Mapping[MailingKind, str]
    subject: str
    span: str
    views: str
    visitors: str
    bots: str
    more: str
    less: str
    same: str
    no_before: str
    chart: str
    weekdays: tuple[str, ...]
    sites: str
    more_sites: str
    pages: str
    sources: str
    links: str
    bot_reasons: str
    notes: str
    more_notes: str
    no_lists: str
    listed_from: str
    names: Mapping[str, str]
    reasons: Mapping[str, str]
    complete: str
    missing_day: str
    missing_days: str
    agrees: str
    differs: str
    open: str
    why: str
    unsubscribe: str
    note_texts: Mapping[NoteKind, NoteText]


class AlertWords(NamedTuple):
    """The texts of alerts.

    `counts`: sentences with the number of views, by kind of alert. `rare`: the text if the site usually has no views at
    this time. `snippet`: sentences that say whether the site's page contains the snippet, by the result of the check.
    """

    subjects: Mapping[AlertKind, str]
    counts: Mapping[AlertKind, str]
    usual: str
    rare: str
    snippet: Mapping[SnippetOnPage | None, str]
    once: str
    open: str
    why: str


class ErrorText(Protocol):
    """The message and remedy for an error code."""

    @property
    def message(self) -> str:
        """The description of the error."""
        ...

    @property
    def remedy(self) -> str | None:
        """The instruction for the user, or None if the user does not need to do anything."""
        ...


@dataclass(frozen=True)
class Formats:
    """A language's number and date formats.

    `thousands`, `decimal`: separators. `months`: the names of the months. `date`, `moment`: templates.
    """

    thousands: str
    decimal: str
    months: tuple[str, ...]
    date: str
    moment: str


@dataclass(frozen=True)
class Words:
    """The texts of all emails in one language.

    `hour`, `hours`: templates for the lifetime of a link. `disabled`, `enabled`: the emails about a site or link that
    the operator disabled or enabled again. `problems`: sentences about account problems. `other_problem`: the sentence
    about any other problem. `limits`: sentences about plan limits that an account has reached. `suggestions`: what to
    do about a limit, by the suggestion in the account's advice. `upgrade`: what to do if there is no suggestion.
    `report_confirm`: the emails that ask a recipient to confirm, by the content of the later emails. `several_sites`:
    the text in place of a host in emails about an account. `broken_target`, `broken_targets`: the emails about one or
    several broken targets of links. `target_problems`: what is wrong with a target. `remaining`: sentences about
    resources that a disconnect could not remove. The web application also uses the texts in `errors`, `findings` and
    `remaining`.
    """

    language: Language
    formats: Formats
    hour: str
    hours: str
    confirm: Text
    choose_password: Text
    account_exists: Text
    reset: Text
    password_changed: Text
    invitation: Text
    confirm_new_address: Text
    address_in_use: Text
    email_change_requested: Text
    disabled: Mapping[TargetKind, Text]
    enabled: Mapping[TargetKind, Text]
    disconnected: Text
    disconnected_tokens: str
    deleted: Text
    deleted_tokens: str
    deleted_left: str
    deleted_end: str
    well: Text
    needs_attention: Text
    cause: str
    remedy: str
    about_notices: str
    problems: Mapping[Problem, str]
    other_problem: str
    expires_on: str
    limits: Mapping[Metric, str]
    suggestions: Mapping[Suggestion, str]
    upgrade: str
    report_confirm: Mapping[MailingContent, Text]
    several_sites: str
    broken_target: Text
    broken_targets: Text
    target_problems: Mapping[TargetProblem, str]
    more_broken_targets: str
    report: ReportWords
    alert: AlertWords
    errors: Mapping[Code, ErrorText]
    findings: finding.Phrases
    remaining: remaining_resource.Phrases

    def number(self, value: float) -> str:
        """Return a number as text with the language's separators, such as 1,234.5 in English."""
        whole, _, part = f"{value:,.1f}".removesuffix(".0").partition(".")
        return whole.replace(",", self.formats.thousands) + (self.formats.decimal + part if part else "")

    def duration(self, hours: float) -> str:
        """Return a duration as text, such as "24 hours"."""
        return (self.hour if hours == 1 else self.hours).format(hours=self.number(hours))

    def day(self, day: int) -> str:
        """Return an epoch day as a date in the language's format."""
        return self._date(date.fromisoformat(day_text(day)))

    def moment(self, at: int) -> str:
        """Return a time (epoch ms) as a date and time in UTC."""
        at_utc = datetime.fromtimestamp(at / 1000, UTC)
        return self.formats.moment.format(date=self._date(at_utc), time=f"{at_utc:%H:%M}")

    def fact(self, name: str, value: str) -> str:
        """Return a fact about a finding or a remaining resource as text. Times are in UTC."""
        if name not in _MOMENTS:
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return value
        if at.utcoffset() != timedelta(0):
            return value
        return self.moment(round(at.timestamp() * 1000))

    def _date(self, day: date) -> str:
        month = self.formats.months[day.month - 1]
        return self.formats.date.format(day=day.day, month=month, year=day.year)

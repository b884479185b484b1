"""The shape of the texts of all e-mails in one language, and its formats of numbers and dates. Pure.

The texts are in `english.py` and `german.py`. Templates name their parameters.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from svc import finding, remaining_resource
from svc.clock import day_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import Code
    from svc.model import Language, Metric, Suggestion

# The problems of accounts that are reported. All but the last two are states of the account.
Problem = Literal["revoked", "permission_error", "resource_drift", "no_connection", "token_expires_soon", "over"]

_MOMENTS = (*finding.MOMENTS, *remaining_resource.MOMENTS)


class Text(NamedTuple):
    """The subject and the text of an e-mail."""

    subject: str
    text: str


class ErrorText(Protocol):
    """The message and the remedy of an error code."""

    @property
    def message(self) -> str:
        """The description of the error."""
        ...

    @property
    def remedy(self) -> str | None:
        """The instruction for the user; None: there is nothing to do."""
        ...


@dataclass(frozen=True)
class Formats:
    """The formats of a language. `date` and `moment` are templates; `months` are the names of the months."""

    thousands: str
    decimal: str
    months: tuple[str, ...]
    date: str
    moment: str


@dataclass(frozen=True)
class Words:
    """The texts of all e-mails in one language.

    `hour`, `hours`: the lifetime of a link. `problems`: the problems of accounts; `other_problem`: any other. `limits`:
    the reached limits of plans. `suggestions`: the remedy for a limit, by the suggestion of the account's advice;
    `upgrade` if there is none. `remaining`: the resources that a disconnect could not remove. `errors`, `findings` and
    `remaining` are texts that the web application has, too.
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
    errors: Mapping[Code, ErrorText]
    findings: finding.Phrases
    remaining: remaining_resource.Phrases

    def number(self, value: float) -> str:
        """Return a number with the separators of the language, such as 1,234.5 in English."""
        whole, _, part = f"{value:,.1f}".removesuffix(".0").partition(".")
        return whole.replace(",", self.formats.thousands) + (self.formats.decimal + part if part else "")

    def duration(self, hours: float) -> str:
        """Return a number of hours, such as 24 hours."""
        return (self.hour if hours == 1 else self.hours).format(hours=self.number(hours))

    def day(self, day: int) -> str:
        """Return a UTC day number as a date."""
        return self._date(date.fromisoformat(day_text(day)))

    def fact(self, name: str, value: str) -> str:
        """Return the text of a fact of a finding or a remaining resource. Times are in UTC."""
        if name not in _MOMENTS:
            return value
        try:
            at = datetime.fromisoformat(value)
        except ValueError:
            return value
        if at.utcoffset() != timedelta(0):
            return value
        return self.formats.moment.format(date=self._date(at), time=f"{at:%H:%M}")

    def _date(self, day: date) -> str:
        month = self.formats.months[day.month - 1]
        return self.formats.date.format(day=day.day, month=month, year=day.year)

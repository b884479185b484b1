"""Notes in reports, shared pages and email reports."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model.reports import ReportPeriod
    from svc.model.users import Language

TargetKind = Literal["site", "link", "account"]
NoteTarget = TargetKind  # the kind of object whose reports show a note
# Kinds of notes that the service writes; see `svc.note_texts`.
NoteKind = Literal[
    "imported", "snippet_rotated", "worker_updated", "hours_refused", "route_missing", "link_host_route_missing"
]
MailingTarget = Literal["site", "account"]  # the kind of object that an email report is about
AlertKind = Literal["spike", "drop", "silence"]
SnippetOnPage = Literal["present", "absent", "unread"]  # unread: the page could not be read
MailingKind = Literal["weekly", "monthly"]
# The kinds of emails that the recipients of a mailing get.
MailingContent = Literal["reports", "alerts", "reports_and_alerts"]
MAILING_KINDS: tuple[MailingKind, ...] = get_args(MailingKind)
RecipientState = Literal["unconfirmed", "confirmed", "unsubscribed"]


@dataclass(frozen=True)
class Note:
    """A text that reports show for a day. A note on an account is shown for all of the account's sites and links.

    `text`: the user's text. Notes that the service wrote have an empty text, and `kind` and `facts` instead.
    """

    id: str
    user_id: int
    account_id: str  # the target's account, or the target itself
    target_kind: NoteTarget
    target: str
    day: int
    text: str
    created_at: int
    kind: NoteKind | None = None
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Share:
    """A public page with the counts of a site, a link or an account. Its URL contains a secret.

    `until`: the last day (epoch day) on which the page is available; None if the page does not expire. `periods`: the
    periods that viewers can select; None if they can select any days. `lists`: True if the page shows breakdowns.
    `embed`: the origins that may show the page in a frame.
    """

    id: str
    user_id: int
    account_id: str  # the target's account, or the target itself
    target_kind: TargetKind
    target: str
    name: str
    sealed_secret: bytes = field(repr=False)
    password_hash: str | None = field(repr=False)
    until: int | None
    periods: tuple[ReportPeriod, ...] | None
    lists: bool
    embed: tuple[str, ...]
    created_at: int


@dataclass(frozen=True)
class Recipient:
    """A recipient of email reports.

    `asked_at`: when the last confirmation email to this address was queued (epoch ms); None if none was.
    """

    id: str
    email: str
    language: Language
    state: RecipientState
    asked_at: int | None = None


@dataclass(frozen=True)
class Mailing:
    """The email reports about a site, or about all sites of an account.

    `weekly_day`, `monthly_day`: the day (day number) on which the next report is due; None if these reports are off.
    `alerts_from`: hours from this time on (epoch ms) can raise alerts; None if alerts are off.
    `minute`: the minute of the UTC day at which reports are due.
    """

    target: str
    target_kind: MailingTarget
    user_id: int
    account_id: str
    weekly_day: int | None
    monthly_day: int | None
    minute: int
    created_at: int
    recipients: tuple[Recipient, ...] = ()
    alerts_from: int | None = None

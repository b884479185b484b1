"""Users and their API keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

Plan = Literal["free", "api"]  # a user's plan in this service
# The kinds of objects whose number is limited for each user.
LimitedKind = Literal["accounts", "sites", "links", "keys"]
LIMITED_KINDS: tuple[LimitedKind, ...] = get_args(LimitedKind)
Language = Literal["en", "de"]  # the languages of emails and of the web application
LANGUAGES: tuple[Language, ...] = get_args(Language)
DEFAULT_LANGUAGE: Language = "en"
Scope = Literal["accounts", "sites", "links", "reports"]


@dataclass(frozen=True)
class User:
    """A user of the service, without the password's hash."""

    id: int
    email: str
    email_confirmed: bool
    plan: Plan
    notify: bool  # send emails when accounts need attention
    language: Language | None  # of emails to the user; None: not chosen
    email_refused_at: int | None  # when mail servers began to reject the address; None if they accept it
    disabled_at: int | None  # when the operator disabled the user; None if the user is enabled
    created_at: int

    @property
    def wants_notices(self) -> bool:
        """True if a queued email about an account or about broken targets may still be sent.

        The state of the address is checked when the email is queued (`IS_NOTIFIED` in `store/notifications.py`).
        """
        return self.notify and self.disabled_at is None


@dataclass(frozen=True)
class Key:
    """An API key, without its value, which the service does not store."""

    id: str
    user_id: int
    name: str | None
    prefix: str
    scopes: tuple[Scope, ...]
    allow_accounts: tuple[str, ...] | None  # Cloudflare account ids
    allow_ips: tuple[str, ...] | None  # addresses and CIDR networks
    created_at: int
    last_used: int | None  # day number

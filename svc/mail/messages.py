"""The texts of all emails to users. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc.errors import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Users choose the names of their accounts, so names are truncated to this many characters.
_MAX_NAME = 100
# Error messages may quote the platform's API, so they are truncated as well.
_MAX_MESSAGE = 1_000


# The default description of each problem, and the error code whose remedy applies.
_PROBLEMS = {
    "revoked": ("The account's working token was deleted or disabled in Cloudflare, or has expired.", "revoked"),
    "permission_error": ("The account's working token lacks a permission.", "permission_error"),
    "resource_drift": (
        "Resources of the service in Cloudflare were changed or deleted outside the service.",
        "resource_drift",
    ),
    "no_connection": ("The account's worker has not reported for a day.", "worker_silent"),
    "token_expires_soon": ("The account's working token expires soon.", "revoked"),
    "over": ("The account has reached a limit of its Cloudflare plan.", None),
}
_UPGRADE = "Upgrade your Cloudflare plan, or count fewer sites with this account."
# The remedy for each suggestion in the account's advice, shown instead of the advice to upgrade.
_SUGGESTED = {
    "shorter_hourly_retention": "Keep breakdowns for fewer days, which you can set on the account's page, or upgrade"
    " your Cloudflare plan.",
}


@dataclass(frozen=True)
class Email:
    """An email. Its text is sent as plain text and as HTML (see `body.py`).

    If `send` is False, the email is prepared and then discarded, so that both cases take the same time.
    """

    to: str
    subject: str
    text: str = field(repr=False)  # may contain a token
    send: bool = True
    id: str = ""  # becomes the Message-ID, so that mail clients recognize a repeated email


def confirm_address(
    to: str, link: str, hours: float, service_url: str, *, mail_id: str = "", send: bool = True
) -> Email:
    """Create the email with the link that confirms an address after a sign-up."""
    return Email(
        to,
        "Confirm your email address",
        f"To confirm your email address, open this link:\n\n{link}\n\n"
        f"The link expires in {_hours(hours)}. If you didn't sign up at {service_url}, you can ignore this email.",
        send,
        mail_id,
    )


def choose_password(
    to: str, link: str, hours: float, service_url: str, *, mail_id: str = "", send: bool = True
) -> Email:
    """Create the email for several sign-ups with one address. The link lets its recipient choose the password."""
    return Email(
        to,
        "Confirm your email address",
        f"Someone signed up at {service_url} with this email address more than once. If this was you, open this link to"
        f" choose a password and confirm your address:\n\n{link}\n\n"
        f"The link expires in {_hours(hours)}. If this wasn't you, you can ignore this email.",
        send,
        mail_id,
    )


def account_exists(to: str, service_url: str, *, mail_id: str = "") -> Email:
    """Create the notice of a sign-up with an address that already has an account."""
    return Email(
        to,
        "You already have an account",
        f"Someone tried to sign up at {service_url} with this email address, but you already have an account.\n\n"
        "If this was you, sign in instead. If you forgot your password, reset it on the sign-in page. If this wasn't"
        " you, you can ignore this email.",
        id=mail_id,
    )


def reset_password(to: str, link: str, hours: float, *, mail_id: str = "", send: bool = True) -> Email:
    """Create the email with the link that sets a new password."""
    return Email(
        to,
        "Reset your password",
        f"To set a new password, open this link:\n\n{link}\n\n"
        f"The link expires in {_hours(hours)}. If you didn't request a new password, you can ignore this email. Your"
        " password stays the same.",
        send,
        mail_id,
    )


def password_changed(to: str, service_url: str, *, mail_id: str) -> Email:
    """Create the notice of a changed password. It has no link, because links in emails never sign a user in."""
    return Email(
        to,
        "Your password was changed",
        f"The password of your account at {service_url} was changed, and all other browsers were signed out.\n\n"
        "If you changed it, no action is needed. If you didn't, reset your password on the sign-in page immediately:"
        " this ends all sessions. Then review your API keys.\n",
        id=mail_id,
    )


def user_deleted(to: str, left: Sequence[str], tokens: Sequence[str], service_url: str, *, mail_id: str) -> Email:
    """Create the last email to a deleted user, with the resources that remain in Cloudflare.

    `left`: descriptions of the remaining resources. `tokens`: the remaining working tokens, each with its account.
    """
    text = f"Your account at {service_url} was deleted, including its sites, links, totals and API keys.\n"
    if tokens:
        text += "\nThese tokens could not be deleted automatically. Delete them in the Cloudflare dashboard:\n\n"
        text += "".join(f"- {_shown(token, _MAX_MESSAGE)}\n" for token in tokens)
    if left:
        text += (
            "\nThese resources could not be removed from Cloudflare. Delete them there if you no longer need them:\n\n"
        )
        text += "".join(f"- {_shown(thing, _MAX_MESSAGE)}\n" for thing in left)
    text += "\nThis is our last email to you. We no longer store your email address."
    return Email(to, "Your account was deleted", text, id=mail_id)


def about_account(mail_id: str, to: str, name: str, notice: Mapping[str, Any], link: str) -> Email:
    """Create the email about a problem of an account, or about its recovery.

    `notice`: `well`, or `trouble` with the optional `code` and `message` of the error and the optional `suggest` of the
    account's advice.
    """
    shown = _shown(name, _MAX_NAME)
    if notice.get("well"):
        text = f"The account {shown} is healthy again. No action is needed.\n\nView the account:\n\n{link}"
        return Email(to, f"{shown} is healthy again", text, id=mail_id)
    happened, known = _PROBLEMS.get(notice.get("trouble", ""), ("The account needs attention.", None))
    meaning = CATALOGUE.get(notice.get("code") or known)  # type: ignore[arg-type]  # None for unknown codes
    remedy = (meaning.remedy if meaning else None) or _SUGGESTED.get(notice.get("suggest") or "", _UPGRADE)
    why = _shown(notice.get("message") or happened, _MAX_MESSAGE)
    text = (
        f"The account {shown} needs attention.\n\nWhat happened: {why}\nWhat to do: {remedy}\n\nView the account:"
        f"\n\n{link}\n\nYou get one email per problem, and another when the account is healthy again. You can turn off"
        " these emails in your settings, or with PATCH /v1/me."
    )
    return Email(to, f"{shown} needs attention: {happened}", text, id=mail_id)


def _hours(hours: float) -> str:
    return f"{hours:g} hour" if hours == 1 else f"{hours:g} hours"


def _shown(text: str, most: int) -> str:
    """Return a foreign text on one line, without control characters, such as characters that change the direction."""
    cut = text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return " ".join("".join(char if char.isprintable() else " " for char in cut).split())

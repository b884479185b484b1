"""The e-mails that users get. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc.errors import CATALOGUE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Of an account's name, which is its owner's choice.
_LONGEST_NAME = 100
# Of an error's message, which may quote the edge platform.
_LONGEST_MESSAGE = 1_000


# What has happened, and what to do, by the trouble's name; of those that have an error of their own, in general.
_TROUBLES = {
    "revoked": ("The edge platform's token that the service works with is gone, disabled or expired.", "revoked"),
    "permission_error": ("The token that the service works with lacks a right.", "permission_error"),
    "resource_drift": ("What the service installed was changed or deleted outside the service.", "resource_drift"),
    "no_connection": ("The account's worker has not reported for a day.", "worker_silent"),
    "token_expires_soon": ("The token that the service works with ends soon.", "revoked"),
    "over": ("The account has reached a limit of its plan at the edge platform.", None),
}
_UPGRADE = "Choose a larger plan at the edge platform, or count fewer sites with this account."
# What to do instead, by what the account's advice suggests.
_SUGGESTED = {
    "shorter_hourly_retention": "Keep breakdowns for fewer days: the account's page has the setting. Or choose a larger"
    " plan at the edge platform.",
}


@dataclass(frozen=True)
class Email:
    """One e-mail. Its text has a line for each sentence group (`body.py`), and leaves as plain text and as HTML.

    `send` False: prepared like any other and then dropped, so that both cost the same.
    """

    to: str
    subject: str
    text: str = field(repr=False)  # it may hold a token
    send: bool = True
    id: str = ""  # of one that may be sent twice: mail programs show it once


def confirm_address(
    to: str, link: str, hours: float, service_url: str, *, mail_id: str = "", send: bool = True
) -> Email:
    """After a sign-up: the link that confirms the address."""
    return Email(
        to,
        "Confirm your address",
        f"Open this link to confirm your e-mail address:\n\n{link}\n\n"
        f"It works for {hours:g} hours. If you did not sign up at {service_url}, do nothing.",
        send,
        mail_id,
    )


def choose_password(
    to: str, link: str, hours: float, service_url: str, *, mail_id: str = "", send: bool = True
) -> Email:
    """Several people signed up with the address: whoever reads its e-mails chooses the password."""
    return Email(
        to,
        "Confirm your address",
        f"Somebody signed up with this address at {service_url} more than once. If it was you, open this link to choose"
        f" a password; it also confirms the address:\n\n{link}\n\n"
        f"It works for {hours:g} hours. If it was not you, do nothing.",
        send,
        mail_id,
    )


def account_exists(to: str, service_url: str, *, mail_id: str = "") -> Email:
    """A sign-up with an address that has an account: a notice that somebody tried."""
    return Email(
        to,
        "You have an account already",
        f"Somebody, probably you, signed up with this address at {service_url}.\n\n"
        "You have an account there already; if you forgot its password, ask for a new one on the sign-in page.",
        id=mail_id,
    )


def reset_password(to: str, link: str, hours: float, *, mail_id: str = "", send: bool = True) -> Email:
    """The link that sets a new password."""
    return Email(
        to,
        "Set a new password",
        f"Open this link to set a new password:\n\n{link}\n\n"
        f"It works for {hours:g} hours. If you did not ask for it, do nothing: your password stays as it is.",
        send,
        mail_id,
    )


def password_changed(to: str, service_url: str, *, mail_id: str) -> Email:
    """After a change of the password: for whoever did not change it. No link: none that comes by e-mail signs in."""
    return Email(
        to,
        "Your password was changed",
        f"The password of your account at {service_url} was changed, and every other browser was signed out.\n\n"
        "If it was you, there is nothing to do. If it was not, ask for a new password on the sign-in page at once: that"
        " ends every session. Then look at your API keys.\n",
        id=mail_id,
    )


def user_deleted(to: str, left: Sequence[str], tokens: Sequence[str], service_url: str, *, mail_id: str) -> Email:
    """The last one: nothing of the user is left here, and this may be at the edge platform.

    `left`: sentences on what could not be removed; `tokens`: working tokens, each behind its account.
    """
    text = f"Your account at {service_url} was deleted, with its sites, links, totals and API keys.\n"
    if tokens:
        text += "\nThese tokens cannot delete themselves. Delete them in the edge platform's dashboard:\n\n"
        text += "".join(f"- {_shown(token, _LONGEST_MESSAGE)}\n" for token in tokens)
    if left:
        text += "\nThis could not be removed from the edge platform. Delete it there if nothing needs it:\n\n"
        text += "".join(f"- {_shown(thing, _LONGEST_MESSAGE)}\n" for thing in left)
    text += "\nThis is the last e-mail: the address is forgotten with it."
    return Email(to, "Your account was deleted", text, id=mail_id)


def about_account(mail_id: str, to: str, name: str, notice: Mapping[str, Any], link: str) -> Email:
    """A trouble of an account that needs a hand, or that all is well again.

    `notice`: `well`, or `trouble` with the `code` and the `message` of its error and what the account's advice
    suggests (`suggest`), as far as it has them.
    """
    shown = _shown(name, _LONGEST_NAME)
    if notice.get("well"):
        text = f"The account {shown} is well again. There is nothing to do.\n\nLook at it:\n\n{link}"
        return Email(to, f"{shown}: well again", text, id=mail_id)
    happened, known = _TROUBLES.get(notice.get("trouble", ""), ("The account needs a hand.", None))
    meaning = CATALOGUE.get(notice.get("code") or known)  # type: ignore[arg-type]  # a code of another version is none
    remedy = (meaning.remedy if meaning else None) or _SUGGESTED.get(notice.get("suggest") or "", _UPGRADE)
    why = _shown(notice.get("message") or happened, _LONGEST_MESSAGE)
    text = (
        f"The account {shown} needs a hand.\n\nWhat happened: {why}\nWhat to do: {remedy}\n\nLook at it:\n\n{link}\n\n"
        "You get one e-mail for each trouble, and one when all is well again. PATCH /v1/me switches them off."
    )
    return Email(to, f"{shown} needs a hand: {happened}", text, id=mail_id)


def _shown(text: str, most: int) -> str:
    """What others wrote, on one line: without control characters, those included that turn the direction of writing."""
    cut = text if len(text) <= most else text[: most - 1] + "\N{HORIZONTAL ELLIPSIS}"
    return " ".join("".join(letter if letter.isprintable() else " " for letter in cut).split())

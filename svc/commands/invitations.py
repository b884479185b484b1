"""`svc user invite`, `invitations` and `revoke-invitation`: manage the invitations to sign up."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import trio

from svc.addresses import LONGEST_EMAIL
from svc.clock import DAY_MS, iso
from svc.commands.arguments import add_command, add_email, positive_number
from svc.commands.output import printable
from svc.commands.paged_list import print_pages
from svc.model import LANGUAGES

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.invitations import Invitation
    from svc.store.tx import Tx

_DAYS = 7
# The maximum validity of an invitation in days. A longer time is almost certainly a typo.
_MAX_DAYS = 365


def add_to(user: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module to the command `user`."""
    invite = add_command(user, shared, "invite", "invite a person to sign up", "The person gets an email with a link.")
    add_email(invite, "the person's email address")
    invite.add_argument(
        "--print", action="store_true", dest="prints", help="print the link instead of sending an email"
    )
    invite.add_argument(
        "--days",
        type=positive_number(_MAX_DAYS),
        default=_DAYS,
        help=f"days until the invitation expires (default: {_DAYS})",
    )
    invite.add_argument("--language", choices=LANGUAGES, help="language of the email (default: en)")
    invite.add_argument("--json", action="store_true", help="print the result as a JSON object")
    invite.set_defaults(command=_invite)
    listing = add_command(user, shared, "invitations", "list pending invitations")
    listing.add_argument("--json", action="store_true", help="print one JSON object per line")
    listing.set_defaults(command=_list)
    revoke = add_command(user, shared, "revoke-invitation", "revoke a pending invitation", "Its link stops working.")
    add_email(revoke, "the invited email address")
    revoke.add_argument("--json", action="store_true", help="print the result as a JSON object")
    revoke.set_defaults(command=_revoke)


def _invite(config: Config, arguments: argparse.Namespace) -> int:
    from svc.api.auth import Address
    from svc.api.shape import parsed
    from svc.clock import system_clock
    from svc.errors import Invalid
    from svc.ids import digest, new_secret
    from svc.mail.compose import Terms
    from svc.store import invitations, open_store, outbox, user_directory

    if config.auth.sign_up == "closed":
        print(
            "svc: sign-up is closed, so invitations do not work; set [auth] sign_up to invite, or run svc user add",
            file=sys.stderr,
        )
        return 1
    try:
        email = parsed(Address, email=arguments.email.strip()).email
    except Invalid as error:
        for issue in error.issues:
            print(f"svc: {issue.path} {issue.message}", file=sys.stderr)
        return 1
    token = new_secret("svm_")
    url = Terms(config.http.link_url, config.timing.mail_token_s).invitation_url(token) if arguments.prints else None

    def invite(now: int) -> Tx[Invitation | None]:
        entries = yield from user_directory.with_address(email)
        if entries and entries[0].user.email_confirmed:
            return None
        invitation = yield from invitations.invite(email, now, now + arguments.days * DAY_MS)
        if arguments.prints:
            yield from invitations.add_token(invitation.id, digest(token))
        else:
            yield from outbox.post(
                "invitation",
                email,
                now,
                invitation.expires_at,
                facts={"invitation": invitation.id},
                language=arguments.language,
            )
        return invitation

    async def apply() -> Invitation | None:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(invite(system_clock()))

    invitation = trio.run(apply)
    if invitation is None:
        print(f"svc: user {email} already exists", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(_facts(invitation) | ({} if url is None else {"url": url})))
    elif url is not None:
        print(f"{url}\nThe link works once, for {email}, until {iso(invitation.expires_at)}.")
    else:
        print("The running service will send the email.")
    return 0


def _list(config: Config, arguments: argparse.Namespace) -> int:
    from svc.clock import system_clock
    from svc.store import invitations

    now = system_clock()

    def line(invitation: Invitation) -> str:
        if arguments.json:
            return json.dumps(_facts(invitation))
        email = printable(invitation.email, LONGEST_EMAIL)
        return f"{email:<40} {iso(invitation.created_at)} {iso(invitation.expires_at)}"

    header = None if arguments.json else f"{'email':<40} {'invited':<24} expires"
    print_pages(config, header, lambda last, limit: invitations.pending(now, last, limit), line)
    return 0


def _revoke(config: Config, arguments: argparse.Namespace) -> int:
    from svc.store import invitations, open_store

    async def revoke() -> Invitation | None:
        async with open_store(config.store, as_is=True) as store:
            return await store.run(invitations.withdraw(arguments.email))

    revoked = trio.run(revoke)
    if revoked is None:
        email = printable(arguments.email, LONGEST_EMAIL)
        print(f"svc: there is no pending invitation for {email}", file=sys.stderr)
        return 1
    if arguments.json:
        print(json.dumps(_facts(revoked)))
    return 0


def _facts(invitation: Invitation) -> dict[str, Any]:
    return {
        "email": invitation.email,
        "created_at": iso(invitation.created_at),
        "expires_at": iso(invitation.expires_at),
    }

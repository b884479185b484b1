"""Events: the log of actions by users, operators and the service."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

# Kinds of events (docs/use/api.md). An OwnAction concerns only the user, an AccountAction a Cloudflare account.
OwnAction = Literal[
    "user.sign_up",
    "user.invite",
    "user.confirm",
    "user.change",
    "user.disable",
    "user.enable",
    "plan.change",
    "limits.change",
    "email.request",
    "email.cancel",
    "email.change",
    "email.revert",
    "password.reset",
    "password.link",
    "password.change",
    "password.refuse",
    "session.begin",
    "session.end",
    "key.issue",
    "key.change",
    "key.revoke",
]
AccountAction = Literal[
    "account.connect",
    "account.change",
    "account.renew",
    "account.install",
    "account.update",
    "account.disconnect",
    "account.check",
    "account.state",
    "link_host.set",
    "link_host.change",
    "site.create",
    "site.change",
    "site.delete",
    "site.rotate",
    "site.disable",
    "site.enable",
    "link.create",
    "link.change",
    "link.delete",
    "link.restore",
    "link.disable",
    "link.enable",
    "totals.import",
    "note.create",
    "note.change",
    "note.delete",
    "share.create",
    "share.change",
    "share.delete",
    "mailing.change",
    "mailing.confirm",
    "mailing.unsubscribe",
]
Action = Literal[OwnAction, AccountAction]
OWN_ACTIONS: tuple[OwnAction, ...] = get_args(OwnAction)
EventOrder = Literal["newest", "oldest"]
JsonObject = dict[str, object]


@dataclass(frozen=True)
class Event:
    """An entry of a user's audit log, stored in the same transaction as the change.

    `via`: what authorized the change: "session", the id of an API key, "service", "operator" or "mail" (a link in an
    email). Events of requests without a credential have a separate value (docs/use/history.md).
    `ip`: the client's IP address.
    `outcome`: "done", "accepted" (work at Cloudflare follows), a state, or an error code.
    `edge_account_id`: the Cloudflare account that the event concerns; None if it concerns only the user.
    `count`: number of changes.
    `number`: position in the user's log, counted from 1 without gaps; 0 until the event is stored.
    `target_name`, `via_name`: the current names of the object `target` and the API key `via`; not stored.
    """

    user_id: int
    at: int
    via: str
    ip: str | None
    action: Action
    target: str | None
    outcome: str
    edge_account_id: str | None = None
    count: int = 1
    number: int = 0
    target_name: str | None = None
    via_name: str | None = None

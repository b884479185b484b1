"""Transactions for the operator's commands that find, disable and enable links and sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from svc.store import outbox, users
from svc.store.disabled_objects import disabled_of
from svc.store.events import by_operator
from svc.store.locks import lock_account
from svc.store.tx import Tx, sql
from svc.store.versions import bump_version

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import AccountAction, AccountState, Disabled
    from svc.store.tx import Parameter

TargetKind = Literal["link", "site"]

_TABLES: Mapping[TargetKind, str] = {"link": "links", "site": "sites"}
_ACTIONS: Mapping[TargetKind, tuple[AccountAction, AccountAction]] = {
    "link": ("link.disable", "link.enable"),
    "site": ("site.disable", "site.enable"),
}
# The SQL expression for a target's name, by kind: the short URL of a link, the host of a site.
_NAMES: Mapping[TargetKind, str] = {
    "link": "coalesce((select h.host from link_hosts h where h.account_id = t.account_id) || '/', '') || t.code",
    "site": "t.host",
}


@dataclass(frozen=True)
class Target:
    """A link or site that the operator may disable.

    `name`: a site's host, or a link's short URL without the scheme. If the link's account has no link host, the
    name is only the code. `email`: the owner's address; None while the owner is being deleted. `account_state`: None if
    the account is disconnected.
    """

    kind: TargetKind
    id: str
    name: str
    is_deleted: bool
    disabled: Disabled | None
    user_id: int
    email: str | None
    account_id: str
    edge_account_id: str
    account_state: AccountState | None


def links_at(host: str, code: str) -> Tx[list[Target]]:
    """Return the links with this short URL. Deleted links are omitted unless they are disabled."""
    return (
        yield from _targets(
            "link",
            "t.account_id in (select account_id from link_hosts where host = $1) and t.code = $2"
            " and (t.state = 'active' or t.disabled_at is not null)",
            host,
            code,
        )
    )


def sites_at(host: str) -> Tx[list[Target]]:
    """Return the sites with this host. Deleted sites are omitted unless they are disabled."""
    return (yield from _targets("site", "t.host = $1 and (t.state <> 'deleted' or t.disabled_at is not null)", host))


def with_id(kind: TargetKind, target_id: str) -> Tx[list[Target]]:
    """Return a list with the link or site that has this id, or an empty list."""
    return (yield from _targets(kind, "t.id = $1", target_id))


def disable(target: Target, reason: str, now: int) -> Tx[bool]:
    """Disable a link or site, and notify its owner.

    The account's actor then removes the object from the Worker's configuration.

    The Worker treats a disabled link like an unknown code. Disabling a link therefore also removes the link host's
    redirect of unknown codes, which could lead to the link's destination.

    Returns False if the link or site is already disabled or was deleted.
    """
    yield from lock_account(target.account_id)
    rows = yield sql(
        f"update {_TABLES[target.kind]} set disabled_at = $2, disabled_reason = $3, config_error = null"  # noqa: S608  # a name of this file
        " where id = $1 and disabled_at is null and state <> 'deleted' returning state",
        target.id,
        now,
        reason,
    )
    if rows:
        version = yield from _sync(target)
        if target.kind == "link":  # the fallback URL could lead to the disabled link's destination
            yield sql(
                "update link_hosts set not_found_url = null, version = $2, config_error = null"
                " where account_id = $1 and not_found_url is not null",
                target.account_id,
                version,
            )
        yield from _record(target, 0, now, {"reason": reason})
    return bool(rows)


def enable(target: Target, now: int) -> Tx[bool]:
    """Enable a link or site, and notify its owner.

    The account's actor then adds the link or site to the Worker's configuration again.

    If the link or site was deleted, it stays deleted, but its code or host can be used again. Returns False if the link
    or site is not disabled.
    """
    yield from lock_account(target.account_id)
    rows = yield sql(
        f"update {_TABLES[target.kind]} set disabled_at = null, disabled_reason = null"  # noqa: S608  # a name of this file
        " where id = $1 and disabled_at is not null returning state",
        target.id,
    )
    if rows:
        if rows[0]["state"] != "deleted":
            yield from _sync(target)
        yield from _record(target, 1, now)
    return bool(rows)


def _sync(target: Target) -> Tx[int]:
    """Increment the configuration version, which causes a sync, and return the new version."""
    version = yield from bump_version(target.account_id)
    yield sql(f"update {_TABLES[target.kind]} set version = $2 where id = $1", target.id, version)  # noqa: S608  # a name of this file
    return version


def _record(target: Target, action: Literal[0, 1], now: int, facts: Mapping[str, object] | None = None) -> Tx[None]:
    """Record the change in the owner's audit log, and queue an email to the owner."""
    yield by_operator(target.user_id, _ACTIONS[target.kind][action], now, target.id, target.edge_account_id)
    user = yield from users.get_user(target.user_id)
    if user is not None:
        yield from outbox.post(
            "target_disabled" if action == 0 else "target_enabled",
            user.email,
            now,
            now + outbox.TOLD_WITHIN_MS,
            user_id=user.id,
            facts={"kind": target.kind, "id": target.id, "name": target.name, **(facts or {})},
        )


def _targets(kind: TargetKind, condition: str, *parameters: Parameter) -> Tx[list[Target]]:
    rows = yield sql(
        f"select t.*, {_NAMES[kind]} as name, u.email, a.state as account_state,"  # noqa: S608  # texts of this file
        " coalesce(a.edge_account_id, f.edge_account_id) as edge_account_id"
        f" from {_TABLES[kind]} t join users u on u.id = t.user_id"
        " left join accounts a on a.id = t.account_id left join former_accounts f on f.id = t.account_id"
        f" where {condition} order by t.state, t.id",
        *parameters,
    )
    return [
        Target(
            kind,
            row["id"],
            row["name"],
            row["state"] == "deleted",
            disabled_of(row),
            row["user_id"],
            row["email"],
            row["account_id"],
            row["edge_account_id"],
            row["account_state"],
        )
        for row in rows
    ]

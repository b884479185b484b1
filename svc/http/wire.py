"""The model as the API shows it: exactly the fields of the specification, section 2. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from pydantic_core import to_json

from svc.clock import day_text, iso
from svc.errors import with_remedy
from svc.model import DROP_REASONS
from svc.worker import snippet

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.errors import ErrorNote
    from svc.model import Account, Counts, Key, Link, LinkHost, Operation, Site, User
    from svc.worker.bundle import WorkerBundle

Json = dict[str, object]

JSON_TYPE = "application/json"
_TOP = 10


def dump(value: Mapping[str, object]) -> bytes:
    """The bytes of an answer."""
    return to_json(value)


def user(person: User) -> Json:
    """A user."""
    return {"id": person.id, "email": person.email, "email_confirmed": person.email_confirmed}


def key(issued: Key) -> Json:
    """A key as the list shows it: never its value."""
    return {
        "id": issued.id,
        "prefix": issued.prefix,
        "scopes": list(issued.scopes),
        "allow_accounts": None if issued.allow_accounts is None else list(issued.allow_accounts),
        "allow_ips": None if issued.allow_ips is None else list(issued.allow_ips),
        "created_at": iso(issued.created_at),
        "last_used": None if issued.last_used is None else day_text(issued.last_used),
    }


def account(it: Account, bundle: WorkerBundle) -> Json:
    """An account as lists and most answers show it."""
    return {
        "id": it.id,
        "edge_account_id": it.edge_account_id,
        "name": it.name,
        "state": it.state,
        "token": None
        if it.token_name is None
        else {"name": it.token_name, "expires_at": None if it.token_expires_at is None else iso(it.token_expires_at)},
        "error": _error_of(it),
        "edge": None
        if it.edge_bundle is None
        else {
            "bundle": it.edge_bundle,
            "up_to_date": it.edge_bundle == bundle.sha256,
            "schema": it.edge_schema,
            "installed_at": None if it.installed_at is None else iso(it.installed_at),
        },
        "push": None
        if it.push is None
        else {
            "at": iso(it.push.at),
            "bundle": it.push.bundle,
            "schema": it.push.schema,
            "queue": it.push.queue,
            "error": it.push.error,
            "dropped": {reason: it.push.dropped.get(reason, 0) for reason in DROP_REASONS},
        },
        "advice": it.advice,
        "created_at": iso(it.created_at),
    }


def account_in_full(it: Account, bundle: WorkerBundle, latest: Operation | None) -> Json:
    """An account as GET /v1/accounts/{id} alone shows it: with its latest operation and its link host."""
    return {
        **account(it, bundle),
        "operation": None if latest is None else operation(latest),
        "link_host": None if it.link_host is None else link_host(it.link_host, it.synced_version),
    }


def operation(it: Operation) -> Json:
    """An operation."""
    return {
        "kind": it.kind,
        "state": it.state,
        "step": it.step,
        "error": _error(it.error),
        "updated_at": iso(it.updated_at),
    }


def link_host(it: LinkHost, synced_version: int) -> Json:
    """A link host."""
    return {
        "host": it.host,
        "state": it.state,
        "config": _config(it.version, synced_version),
        "error": _error(it.error),
    }


def site(it: Site, synced_version: int, bundle: WorkerBundle) -> Json:
    """A site; a deleted one has no snippet."""
    return {
        "id": it.id,
        "account_id": it.account_id,
        "host": it.host,
        "state": it.state,
        "path": it.path,
        "snippet": None
        if it.state == "deleted"
        else {
            "inline": snippet.inline(bundle.snippet, it.path),
            "script_tag": snippet.script_tag(it.path, it.script_name),
            "csp_hash": snippet.csp_hash(bundle.snippet, it.path),
        },
        "excluded_paths": list(it.excluded_paths),
        "config": _config(it.version, synced_version),
        "retiring": [{"path": old.path, "until": iso(old.until)} for old in it.retiring],
        "error": _error(it.error),
        "created_at": iso(it.created_at),
    }


def link(it: Link, of: Account, clicks_7d: int | None = None) -> Json:
    """A link; `clicks_7d` only where it is given. A deleted link's code may be another's: it has no short_url."""
    shown: Json = {
        "id": it.id,
        "account_id": it.account_id,
        "code": it.code,
        "short_url": short_url(it, of),
        "url": it.url,
        "rules": [rule.fields() for rule in it.rules],
        "state": it.state,
        "config": _config(it.version, of.synced_version),
        "created_at": iso(it.created_at),
    }
    if clicks_7d is not None:
        shown["clicks_7d"] = clicks_7d
    return shown


def short_url(it: Link, of: Account) -> str | None:
    """Where the link is clicked; None: nowhere."""
    if of.link_host is None or it.state == "deleted":
        return None
    return f"https://{of.link_host.host}/{it.code}"


def counts(it: Counts) -> Json:
    """Views, bots, visitors."""
    return {"views": it.views, "bots": it.bots, "visitors": it.visitors}


def top(tally: Mapping[str, int]) -> list[Json]:
    """The ten largest, the largest first; equal ones in the order of their keys."""
    ordered = sorted(tally.items(), key=lambda entry: (-entry[1], entry[0]))
    return [{"key": name, "n": n} for name, n in ordered[:_TOP]]


def _error_of(it: Account) -> Json | None:
    """What is wrong with an account, and the warnings of one that works, with the names of tokens to revoke."""
    shown: Json = dict(_error(it.error) or {})
    if it.warnings:
        shown["warnings"] = list(it.warnings)
    if it.revoke_tokens:
        shown["details"] = {**cast("Json", shown.get("details", {})), "revoke_tokens": list(it.revoke_tokens)}
    return shown or None


def _error(note: ErrorNote | None) -> Json | None:
    return None if note is None else with_remedy(note)


def _config(version: int, synced_version: int) -> str:
    return "synced" if version <= synced_version else "pending"


def page(name: str, found: list[Json], limit: int) -> Json:
    """A list of at most `limit`; `next_cursor` is there only when `found` goes on behind it."""
    shown: Json = {name: found[:limit]}
    if len(found) > limit:
        shown["next_cursor"] = found[limit - 1]["id"]
    return shown

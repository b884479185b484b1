"""Creates test data with the store's own transactions."""

from __future__ import annotations

from dataclasses import replace
from itertools import count
from typing import TYPE_CHECKING, Any, cast

from svc.clock import day_of
from svc.ids import digest, new_id
from svc.model import Link, Note, Share, Site
from svc.store import accounts, link_hosts, links, notes, operations, shares, sites, target_checks, users
from svc.store.mailings import Settings, new_mailing, put_mailing
from svc.store.recipients import Wanted
from svc.store.sessions import Issued, Session
from svc.store.tx import sql
from tests.clock import START_MS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from svc.model import Account, Event, Mailing, MailingTarget, NoteTarget, TargetKind, TargetProblem
    from svc.store.tx import Tx

_numbers = count(1)


def a_user() -> Tx[int]:
    """Add a user and return the user's id."""
    user = yield from users.add_user(f"person{next(_numbers)}@example.com", "hash", START_MS)
    assert user is not None
    return user.id


def new_session(user_id: int, name: str = "s", *, access: str | None = None, until: int, at: int = START_MS) -> Session:
    """Return a session that is not stored yet. Its access token expires at the same time as its refresh token.

    With the name `s`, its tokens have the digests `a-s` (or `access`) and `r-s`, and its family is `f-s`.
    """
    issued = Issued(access or f"a-{name}", until, f"r-{name}", until, "salt", at)
    return Session(new_id("ses"), user_id, f"f-{name}", "Firefox on Linux", f"d-{name}", at, issued)


def an_account(user_id: int | None = None, *, edge_account_id: str | None = None, link_host: bool = True) -> Tx[str]:
    """Add an account and return its id. Without `user_id`, also add a user."""
    if user_id is None:
        user_id = yield from a_user()
    account_id = new_id("acc")
    edge_account_id = edge_account_id or f"{next(_numbers):032x}"
    yield from accounts.add_account(
        account_id=account_id, user_id=user_id, edge_account_id=edge_account_id, name="Shop", now=START_MS
    )
    yield from operations.add(new_id("op"), account_id, edge_account_id, "connect", "token", START_MS)
    if link_host:
        yield from link_hosts.put_link_host(account_id, "go.example.com", "zone")
    return account_id


def owner_of(account_id: str) -> Tx[int]:
    """Return the id of the account's user."""
    account = yield from accounts.account_by_id(account_id)
    assert account is not None
    return account.user_id


def account_of(account_id: str) -> Tx[Account]:
    """Return the account with this id."""
    return accounts.present((yield from accounts.account_by_id(account_id)))


def new_site(user_id: int, account_id: str, host: str = "shop.example.com", at: int = START_MS) -> Site:
    """Return a site that is not stored yet."""
    return Site(
        id=new_id("site"),
        account_id=account_id,
        user_id=user_id,
        host=host,
        zone_id="zone",
        state="route_pending",
        path="/ab3/x9k",
        script_name="k3f",
        snippet='navigator.sendBeacon("__PATH__",location.pathname)',
        excluded_paths=("/admin",),
        respect_gpc=True,
        route_id=None,
        retiring=(),
        error=None,
        version=0,
        created_at=at,
        visitor_opt_out=True,
    )


def new_link(user_id: int, account_id: str, code: str = "sale26", at: int = START_MS) -> Link:
    """Return a link that is not stored yet."""
    return Link(
        id=new_id("lnk"),
        account_id=account_id,
        user_id=user_id,
        code=code,
        url="https://shop.example.com/sale",
        rules=(),
        state="active",
        version=0,
        created_at=at,
    )


def new_note(
    user_id: int,
    account_id: str,
    target: str,
    kind: NoteTarget = "site",
    *,
    day: int = day_of(START_MS),
    text: str = "Newsletter sent",
    at: int = START_MS,
) -> Note:
    """Return a note that is not stored yet."""
    return Note(new_id("note"), user_id, account_id, kind, target, day, text, at)


def new_share(user_id: int, account_id: str, target: str, kind: TargetKind = "site", **more: Any) -> Share:
    """Return a share that is not stored yet. `more`: fields that differ from the defaults."""
    share = Share(
        id=new_id("shr"),
        user_id=user_id,
        account_id=account_id,
        target_kind=kind,
        target=target,
        name="Shop",
        sealed_secret=b"sealed",
        password_hash=None,
        until=None,
        periods=None,
        lists=False,
        embed=(),
        created_at=START_MS,
    )
    return replace(share, **more)


def a_site(account_id: str, host: str = "shop.example.com") -> Tx[str]:
    """Add a site and return its id."""
    user_id = yield from owner_of(account_id)
    return (yield from sites.add_site(new_site(user_id, account_id, host), 1_000)).id


def a_note(account_id: str, target: str, kind: str = "site", **more: Any) -> Tx[Note]:
    """Add a note and return it. `kind`: a `NoteTarget`. `more`: see `new_note`."""
    user_id = yield from owner_of(account_id)
    return (yield from notes.add_note(new_note(user_id, account_id, target, cast("NoteTarget", kind), **more)))


def a_share(account_id: str, target: str, kind: str = "site", **more: Any) -> Tx[str]:
    """Share a target and return the secret. `kind`: a `TargetKind`. `more`: see `new_share`."""
    user_id = yield from owner_of(account_id)
    secret = new_id("shs")
    yield from shares.add_share(
        new_share(user_id, account_id, target, cast("TargetKind", kind), **more), digest(secret)
    )
    return secret


def a_mailing(
    account_id: str,
    target: str,
    kind: str = "site",
    *,
    recipients: Sequence[str] = ("ann@example.org",),
    weekly: bool = True,
    monthly: bool = True,
    alerts: bool = False,
    at: int = START_MS,
) -> Tx[Mailing]:
    """Set email reports and return them. `kind`: a `MailingTarget`. The recipients have not confirmed yet."""
    user = yield from users.get_user((yield from owner_of(account_id)))
    assert user is not None
    settings = Settings(weekly, monthly, [Wanted(email, None) for email in recipients], alerts)
    unset = new_mailing(user.id, account_id, cast("MailingTarget", kind), target, at)
    return (yield from put_mailing(user, unset, settings, None, at))


def a_link(account_id: str, code: str = "sale26", **more: Any) -> Tx[str]:
    """Add a link and return its id. `more`: fields that differ from those of `new_link`."""
    user_id = yield from owner_of(account_id)
    return (yield from links.add_link(replace(new_link(user_id, account_id, code), **more), 1_000)).id


def a_broken_target(url: str, problem: TargetProblem = "http_404", now: int = START_MS) -> Tx[None]:
    """Record two requests for the URL of a link target, both with this problem: a day before `now`, and at `now`."""
    while (yield from target_checks.list_targets(now, lambda _: 0)):
        pass
    for at in (now - target_checks.CONFIRM_MS, now):
        yield sql("update target_checks set due_at = $2 where digest = $1", target_checks.target_digest(url), at)
        check = target_checks.Check(target_checks.target_digest(url), url, at)
        assert (yield from target_checks.claim(check, at))
        yield from target_checks.record(check, at, problem, at)


def record(*recorded: Event) -> Tx[None]:
    """Add events to the logs of their users."""
    for event in recorded:  # noqa: UP028  # `yield from` a list fails, because lists do not accept rows
        yield event

"""Every kind of write of /v1: its request, and its effect on the store and the platform.

A user with one account sends the writes in this order, from connecting the account to disconnecting it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from svc.api import (
    account_operations,
    accounts,
    bulk,
    bulk_changes,
    email_changes,
    explain,
    health_checks,
    imports,
    keys,
    link_hosts,
    links,
    mailings,
    me,
    notes,
    page_titles,
    sessions,
    shares,
    sites,
)
from svc.store.tx import Tx, sql
from tests.journeys.conftest import ZONE

if TYPE_CHECKING:
    from edge_worker.emulator.client import Customer, Emulator
    from svc.api.endpoint import Endpoint
    from svc.store.tx import Store

PASSWORD, NEW_PASSWORD = "a long password", "another long one"  # the passwords of the user in these tests
EXPLAINED = {"country": "DE", "user_agent": "curl/8", "query": "q"}
# A table with the views of a day, in base64.
EARLIER_DAY = "ZGF5LHZpZXdzCjIwMjAtMDEtMDEsMTIK"
# These objects are counted only in runs without a kill. After a kill, an operation may be started a second time. The
# first start then leaves a row, or a token that the user has to revoke, which `test_killed` checks.
ONLY_UNDISTURBED = ("operations", "tokens made", "working tokens", "bootstrap tokens", "uploads")


@dataclass
class Place:
    """The context of the writes: one account at the platform, one store, and the resources created so far."""

    emulator: Emulator
    customer: Customer
    store: Store
    ids: dict[str, str] = field(default_factory=dict)  # ids of the account, site, link, note, share, key and session

    async def counts(self) -> Counter[str]:
        """Return the number of objects, by kind, for all kinds of objects that a write could create twice."""
        found = Counter(await self.store.read(_rows()))
        account = (await self.emulator.state())["accounts"][self.customer.account_id]
        names = [token["name"] for token in account["tokens"].values()]
        versions = [len(script["versions"]) for script in account["scripts"].values()]
        found["working tokens"] = sum(name.startswith("svc-") for name in names)
        found["bootstrap tokens"] = len(names) - found["working tokens"]
        found["scripts"] = len(versions)
        found["databases"] = len(account["databases"])
        found["routes"] = sum(len(zone["routes"]) for zone in account["zones"].values())
        asked = [(call["method"], call["path"], call["status"]) for call in await self.emulator.requests()]
        own = f"/accounts/{self.customer.account_id}"
        found["tokens made"] = sum(
            method == "POST" and path.endswith(f"{own}/tokens") and status is not None and status < 300
            for method, path, status in asked
        )
        found["uploads"] = sum(
            method == "PUT" and path.endswith(f"{own}/workers/scripts/svc-edge") and status is not None and status < 300
            for method, path, status in asked
        )
        return found


@dataclass(frozen=True)
class Kind:
    """One kind of write. `body` returns the request body. `made` locates an id in the response for later writes."""

    endpoint: Endpoint[Any, Any]
    effect: dict[str, int]
    body: Callable[[Place], Any] = lambda _: None
    # the name of the new object's id in `Place.ids`, and the response's field with the object, e.g. ("site_id", "site")
    made: tuple[str, str] | None = None
    bootstrap: bool = False  # True if the body contains a new bootstrap token
    # True if the write ends all other sessions of the user, so that only one credential can repeat it
    by_one: bool = False

    @property
    def name(self) -> str:
        """The name of the write in the output of a test."""
        return f"{self.endpoint.method} {self.endpoint.path}"

    async def request(self, place: Place) -> tuple[str, str, Any]:
        """Return method, path and body."""
        body = self.body(place)
        if self.bootstrap:
            rights = ["Account Settings Read", "Account API Tokens Write"]
            _, token = await place.emulator.create_token(place.customer.account_id, rights=rights)
            body = {**(body or {}), "bootstrap_token": token}
        return self.endpoint.method, self.endpoint.path.format(**place.ids), body


def _in_account(**more: Any) -> Callable[[Place], Any]:
    return lambda place: {"account_id": place.ids["account_id"], **more}


def _fields(**body: Any) -> Callable[[Place], Any]:
    return lambda _: body


KINDS = (
    Kind(me.CHANGE, {"users without emails": 1}, _fields(notify=False)),
    Kind(
        email_changes.REQUEST,
        {"email changes": 1, "pending email changes": 1},
        _fields(email="another@example.com", password=PASSWORD),
    ),
    Kind(email_changes.CANCEL, {"pending email changes": -1}),
    Kind(sessions.END, {"sessions": -1}),
    Kind(keys.ISSUE, {"keys": 1}, _fields(scopes=["links"]), made=("key_id", "id")),
    Kind(keys.RENAME, {"named keys": 1}, _fields(name="another name")),
    Kind(keys.REVOKE, {"keys": -1, "named keys": -1}),
    Kind(
        account_operations.CONNECT,
        {"accounts": 1, "scripts": 1, "databases": 1, "tokens made": 1, "working tokens": 1, "bootstrap tokens": -1}
        | {"operations": 2, "uploads": 1},
        lambda place: {"edge_account_id": place.customer.account_id},
        made=("account_id", "account"),
        bootstrap=True,
    ),
    Kind(accounts.CHANGE, {"accounts with this name": 1}, _fields(name="this name")),
    Kind(health_checks.CHECK, {}),
    Kind(
        account_operations.RENEW,
        {"tokens made": 1, "working tokens": 0, "bootstrap tokens": -1, "operations": 1},
        bootstrap=True,
    ),
    Kind(account_operations.INSTALL, {"operations": 1, "uploads": 1}),
    Kind(link_hosts.PUT, {"link hosts": 1, "routes": 1, "versions": 1}, _fields(host=f"go.{ZONE}")),
    Kind(link_hosts.CHANGE, {"versions": 1}, _fields(root_url="https://example.org/")),
    Kind(
        sites.ADD,
        {"sites": 1, "live sites": 1, "routes": 1, "versions": 1},
        _in_account(host=ZONE),
        made=("site_id", "site"),
    ),
    Kind(sites.CHANGE, {"versions": 1}, _fields(excluded_paths=["/admin"])),
    Kind(
        notes.ADD,
        {"notes": 1},
        lambda place: {"site_id": place.ids["site_id"], "day": "2026-11-21", "text": "Newsletter sent"},
        made=("note_id", "note"),
    ),
    Kind(notes.CHANGE, {"notes with this text": 1}, _fields(text="this text")),
    Kind(notes.DELETE, {"notes": -1, "notes with this text": -1}),
    Kind(imports.SITE, {"imported days": 1, "automatic notes": 1}, _fields(file=EARLIER_DAY)),
    Kind(sites.ROTATE, {"old paths": 1, "routes": 1, "versions": 1, "automatic notes": 1}),
    Kind(shares.ADD_TO_SITE, {"shares": 1}, _fields(name="Site"), made=("share_id", "share")),
    Kind(
        mailings.PUT_SITE,
        {"email reports": 1, "recipients": 1, "confirmation requests": 1},
        _fields(weekly=True, monthly=False, alerts=True, recipients=[{"email": "ann@example.org"}]),
    ),
    Kind(
        mailings.PUT_ACCOUNT,
        {"email reports": 1, "recipients": 1, "confirmation requests": 1},
        _fields(weekly=False, monthly=True, recipients=[{"email": "bob@example.org"}]),
    ),
    Kind(
        sites.DELETE,
        {"live sites": -1, "routes": -2, "versions": 1, "email reports": -1, "recipients": -1},
    ),
    Kind(
        links.ADD,
        {"links": 1, "live links": 1, "versions": 1},
        _in_account(url="https://example.org/"),
        made=("link_id", "link"),
    ),
    Kind(links.CHANGE, {"versions": 1}, _fields(url="https://example.org/other")),
    Kind(imports.LINK, {"imported days": 1, "automatic notes": 1}, _fields(file=EARLIER_DAY)),
    Kind(
        bulk.ADD_MANY,
        {"links": 3, "live links": 3, "versions": 1},
        _in_account(links=[{"url": f"https://example.org/{n}"} for n in range(3)]),
    ),
    Kind(
        bulk_changes.CHANGE_MANY,
        {"links with this tag": 4},
        _fields(filter={"q": "example.org"}, add_tags=["this tag"]),
    ),
    Kind(page_titles.PROPOSE, {}, _fields(url="https://example.org/")),
    Kind(explain.EXPLAIN, {}, _fields(**EXPLAINED)),
    Kind(shares.ADD_TO_LINK, {"shares": 1}, _fields(name="Link", lists=True), made=("share_id", "share")),
    Kind(shares.ADD_TO_ACCOUNT, {"shares": 1}, _fields(name="Account"), made=("share_id", "share")),
    Kind(shares.CHANGE, {"shares with this name": 1}, _fields(name="this name")),
    Kind(shares.DELETE, {"shares": -1, "shares with this name": -1}),
    Kind(links.DELETE, {"live links": -1, "versions": 1}),
    Kind(links.RESTORE, {"live links": 1, "versions": 1}),
    Kind(bulk_changes.DELETE_MANY, {"live links": -4, "versions": 1}, _fields(filter={"tag": "this tag"})),
    Kind(
        account_operations.DISCONNECT,
        {"accounts": -1, "accounts with this name": -1, "former accounts": 1, "link hosts": -1}
        | {"email reports": -1, "recipients": -1}
        | {"scripts": -1, "databases": -1, "routes": -1, "operations": 1, "old paths": -1, "versions": -12},
    ),
    Kind(
        sessions.CHANGE_PASSWORD,
        {"sessions": -1},
        _fields(old=PASSWORD, new=NEW_PASSWORD),
        by_one=True,
    ),
)
# Writes that end the caller's credentials. Later requests are unauthorized, so they do not get the stored response.
LAST = (
    Kind(sessions.END_ALL, {"sessions": -3, "answers kept": 1}),
    Kind(
        me.LEAVE,
        {"users": -1, "sessions": -3, "keys": -3},
        _fields(password=PASSWORD),
    ),
)


def _rows() -> Tx[dict[str, int]]:
    counted = {
        "accounts": "accounts",
        "accounts with this name": "accounts where name = 'this name'",
        "former accounts": "former_accounts",
        "operations": "operations",
        "keys": "keys",
        "named keys": "keys where name = 'another name'",
        "link hosts": "link_hosts",
        "sites": "sites",
        "live sites": "sites where state <> 'deleted'",
        "old paths": "retiring_paths",
        "links": "links",
        "live links": "links where state <> 'deleted'",
        "links with this tag": "links where tags like '% this-tag %'",
        "imported days": "days where imported = 1",
        "notes": "notes where kind is null",
        "automatic notes": "notes where kind is not null",
        "notes with this text": "notes where text = 'this text'",
        "shares": "shares",
        "shares with this name": "shares where name = 'this name'",
        "email reports": "mailings",
        "recipients": "mailing_recipients",
        "confirmation requests": "mailing_requests",
        "users": "users",
        "users without emails": "users where notify = 0",
        "sessions": "sessions",
        "email changes": "email_changes",
        "pending email changes": "email_changes where confirmed_at is null and expires_at > created_at",
        "answers kept": "idempotency",
    }
    found = {}
    for name, rows in counted.items():
        # the names of the tables are constants of this file
        found[name] = (yield sql(f"select count(*) as n from {rows}"))[0]["n"]
    versions = yield sql("select cast(coalesce(sum(config_version), 0) as bigint) as n from accounts")
    found["versions"] = versions[0]["n"]
    return found

"""GET /v1/events: every change is logged once, with its credential, address and target."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from svc.api.contract import ENDPOINTS
from svc.api.events import id_of, number_in
from svc.clock import iso
from svc.errors import Invalid, ServiceError
from svc.ids import new_id
from svc.model import OWN_ACTIONS, Event
from svc.store.tx import sql
from tests.cases import cases
from tests.clock import START_MS
from tests.http.auth_steps import EMAIL, PASSWORD, a_confirmed_user, client, confirm, sign_in, sign_up, token_of
from tests.http.conftest import EDGE_ACCOUNT, OTHER_EDGE_ACCOUNT, SCOPES
from tests.store.makers import record

if TYPE_CHECKING:
    from svc.model import Account, User
    from svc.store.tx import Tx
    from tests.http.conftest import Response, World

pytestmark = pytest.mark.both_engines

JSON = dict[str, Any]


async def events_of(world: World, headers: dict[str, str], query: str = "order=oldest&limit=1000") -> list[JSON]:
    """Return the events visible to this credential, oldest first, except the service's own account.state events."""
    response = await world.call("GET", f"/v1/events?{query}", headers=headers)
    assert response.status == 200, response.raw
    return [event for event in response.body["events"] if event["action"] != "account.state"]


def short(events: list[JSON]) -> list[tuple[str, str | None, str]]:
    return [(event["action"], event["target"], event["outcome"]) for event in events]


@pytest.mark.rule("X12")
async def test_event_has_credential_address_action_and_outcome(world: World) -> None:
    user, session, account = await world.ready()
    world.clock.now_ms += 1_000
    made = await world.call(
        "POST",
        "/v1/links",
        {"account_id": account.id, "url": "https://example.org"},
        headers={**session, "X-Forwarded-For": "2001:db8::7"},
        scope_base={"client": ("10.0.0.1", 1)},
    )
    [event] = await events_of(world, session)
    assert event == {
        "id": event["id"],
        "at": iso(START_MS + 1_000),
        "via": "session",
        "ip": "2001:db8::7",
        "action": "link.create",
        "target": made.body["link"]["id"],
        "target_name": made.body["link"]["code"],
        "outcome": "done",
        "edge_account_id": EDGE_ACCOUNT,
        "count": 1,
    }
    key = await world.key(user)
    [issued] = (await world.call("GET", "/v1/keys", headers=session)).body["keys"]
    asked = await world.call("POST", f"/v1/accounts/{account.id}/install", headers=key)
    assert asked.status == 202
    [_, event] = await events_of(world, session)
    assert (event["via"], event["action"], event["target"]) == (issued["id"], "account.install", account.id)
    assert (event["outcome"], event["ip"]) == ("accepted", None)  # the test connection has no IP address
    assert (event["via_name"], event["target_name"]) == (f"{issued['prefix']}…", account.name)


@pytest.mark.rule("X12", "Y1")
async def test_events_name_objects_that_exist_for_callers_who_may_see_them(world: World) -> None:
    user, session, account = await world.ready()

    async def create(path: str, body: JSON) -> str:
        response = await world.call("POST", path, body, headers=session)
        assert response.status < 300, response.raw
        return made_id(response) or ""

    site = await create("/v1/sites", {"account_id": account.id, "host": "www.example.com"})
    link = await create("/v1/links", {"account_id": account.id, "url": "https://example.org", "code": "abc"})
    share = await create(f"/v1/sites/{site}/shares", {"name": "Press"})
    ended = await create(f"/v1/sites/{site}/shares", {"name": "Ended"})
    await world.call("DELETE", f"/v1/shares/{ended}", headers=session)
    key = await create("/v1/keys", {"scopes": list(SCOPES), "name": "Robot"})
    for path in (f"/v1/links/{link}", f"/v1/sites/{site}"):  # deleted objects can be restored, so they keep their names
        assert (await world.call("DELETE", path, headers=session)).status < 300
    await world.call("PATCH", f"/v1/accounts/{account.id}", {"name": "Shop"}, headers=session)
    names = {event["target"]: event.get("target_name") for event in await events_of(world, session)}
    assert names == {
        site: "www.example.com",
        link: "abc",
        share: "Press",
        ended: None,
        key: "Robot",
        account.id: "Shop",
    }

    for scopes, allow in ((("accounts",), None), (SCOPES, (EDGE_ACCOUNT,))):
        limited = await world.key(user, *scopes, allow_accounts=allow)
        assert not [event for event in await events_of(world, limited) if "target_name" in event]


@pytest.mark.rule("X12")
async def test_names_belong_to_the_objects_of_the_user(world: World) -> None:
    _, _, account = await world.ready()
    stranger = await world.user()
    await world.store.run(record(Event(stranger.id, START_MS, "session", None, "account.change", account.id, "done")))
    [event] = await events_of(world, await world.session(stranger))
    assert event["target"] == account.id
    assert "target_name" not in event


ALL: list[tuple[str, str, str, Any]] = [
    # Each row is (action, method, path, body). Ids replace the placeholders in path and body.
    ("user.change", "PATCH", "/v1/me", {"notify": False}),
    ("user.change", "PATCH", "/v1/me", {"notify": False, "language": "de"}),
    ("key.issue", "POST", "/v1/keys", {"scopes": ["links"]}),
    ("key.change", "PATCH", "/v1/keys/{key}", {"name": "Ours"}),
    ("key.revoke", "DELETE", "/v1/keys/{key}", None),
    ("account.connect", "POST", "/v1/accounts", {"edge_account_id": OTHER_EDGE_ACCOUNT, "bootstrap_token": "t" * 40}),
    ("account.change", "PATCH", "/v1/accounts/{account}", {"name": "Shop"}),
    ("account.renew", "POST", "/v1/accounts/{account}/token", {"bootstrap_token": "t" * 40}),
    ("link_host.set", "PUT", "/v1/accounts/{account}/link-host", {"host": "to.example.com"}),
    ("link_host.change", "PATCH", "/v1/accounts/{account}/link-host", {"root_url": "https://example.org/"}),
    ("site.create", "POST", "/v1/sites", {"account_id": "{account}", "host": "www.example.com"}),
    ("site.change", "PATCH", "/v1/sites/{site}", {"respect_gpc": True}),
    ("totals.import", "POST", "/v1/sites/{site}/totals", {"file": "ZGF5LHZpZXdzCjIwMjAtMDEtMDEsMTIK"}),
    (
        "mailing.change",
        "PUT",
        "/v1/sites/{site}/mailings",
        {"weekly": True, "monthly": False, "recipients": [{"email": "ann@example.org"}]},
    ),
    (
        "mailing.change",
        "PUT",
        "/v1/accounts/{account}/mailings",
        {"weekly": True, "monthly": False, "recipients": []},
    ),
    ("site.rotate", "POST", "/v1/sites/{site}/rotate", None),
    ("share.create", "POST", "/v1/sites/{site}/shares", {"name": "Site"}),
    ("site.delete", "DELETE", "/v1/sites/{site}", None),
    ("link.create", "POST", "/v1/links", {"account_id": "{account}", "url": "https://example.org", "code": "abc"}),
    ("nothing", "POST", "/v1/links/title", {"url": "https://example.org:8443/"}),  # sends nothing: the port is not 443
    ("link.change", "PATCH", "/v1/links/{link}", {"url": "https://example.org/2"}),
    ("nothing", "POST", "/v1/links/{link}/explain", {}),
    ("totals.import", "POST", "/v1/links/{link}/totals", {"file": "ZGF5LHZpZXdzCjIwMjAtMDEtMDEsMTIK"}),
    ("share.create", "POST", "/v1/links/{link}/shares", {"name": "Link"}),
    ("share.create", "POST", "/v1/accounts/{account}/shares", {"name": "Account"}),
    ("share.change", "PATCH", "/v1/shares/{share}", {"name": "Sites"}),
    ("share.delete", "DELETE", "/v1/shares/{share}", None),
    ("link.change", "PATCH", "/v1/links/bulk", {"ids": ["{link}"], "add_tags": ["x"]}),
    ("link.delete", "DELETE", "/v1/links/{link}", None),
    ("link.restore", "POST", "/v1/links/{link}/restore", None),
    (
        "link.create",
        "POST",
        "/v1/links/bulk",
        {"account_id": "{account}", "links": [{"url": "https://example.org"}] * 2},
    ),
    ("link.delete", "DELETE", "/v1/links/bulk", {"filter": {"account_id": "{account}"}}),
    ("account.install", "POST", "/v1/accounts/{account}/install", None),
]


def filled(value: Any, ids: dict[str, str]) -> Any:
    if isinstance(value, str):
        return value.format_map(ids)
    if isinstance(value, dict):
        return {name: filled(item, ids) for name, item in value.items()}
    if isinstance(value, list):
        return [filled(item, ids) for item in value]
    return value


def made_id(response: Response) -> str | None:
    """Return the id of the object in a response, or None."""
    shown = response.body
    for name in ("site", "link", "account", "share"):
        if name in shown:
            return str(shown[name]["id"])
    found = shown.get("id")
    return None if found is None else str(found)


@pytest.mark.rule("X12")
async def test_every_write_is_logged_once_even_if_repeated(world: World) -> None:
    _, session, account = await world.ready()
    ids = {"account": account.id}
    expected: list[tuple[str, str | None, str]] = []
    for number, (action, method, path, body) in enumerate(ALL):
        headers = {**session, "Idempotency-Key": str(number)}
        responses = [await world.call(method, filled(path, ids), filled(body, ids), headers=headers) for _ in range(2)]
        assert responses[0].status < 300, (path, responses[0].raw)
        target = made_id(responses[0])
        for kind in ("key", "site", "link"):
            if path == f"/v1/{kind}s" and target is not None:
                ids[kind] = target
        if action == "share.create" and target is not None:
            ids["share"] = target
        if action == "key.revoke":
            target = ids["key"]
        if action in ("totals.import", "mailing.change"):
            target = ids[path.split("{")[1].split("}")[0]]
        if ("{account}" in path and action != "share.create") or path.endswith("/bulk"):
            target = account.id
        if action == "share.delete":
            target = ids["share"]
        if action != "nothing":
            expected.append((action, target, "accepted" if responses[0].status == 202 else "done"))
    logged = await events_of(world, session)
    assert short(logged) == expected
    assert [event["count"] for event in logged] == [
        2 if action == ALL[-3] else 3 if action == ALL[-2] else 1 for action in ALL if action[0] != "nothing"
    ]
    for event in logged:
        assert (event["edge_account_id"] is None) == (event["action"] in OWN_ACTIONS), event
    assert [event["id"] for event in logged] == list(dict.fromkeys(event["id"] for event in logged))


def test_list_of_writes_is_complete() -> None:
    """ALL contains every write except those that other tests cover."""
    tried = {(method, path.replace("{key}", "{key_id}").replace("{share}", "{share_id}")) for _, method, path, _ in ALL}
    tried = {(method, path.format(account="{account_id}", site="{site_id}", link="{link_id}", key_id="{key_id}",
                                  share_id="{share_id}"))
             for method, path in tried}  # fmt: skip
    remaining = {(each.method, each.path) for each in ENDPOINTS if each.changes} - tried
    assert remaining == {
        ("DELETE", "/v1/accounts/{account_id}"),
        ("POST", "/v1/accounts/{account_id}/check"),
        ("DELETE", "/v1/me"),  # this deletes the user's events, so test_leaving.py tests it
        ("POST", "/v1/me/password"),
        ("POST", "/v1/me/email"),  # see test_email_changes.py
        ("DELETE", "/v1/me/email"),  # see test_email_changes.py
        ("POST", "/v1/notes"),  # see test_notes.py
        ("PATCH", "/v1/notes/{note_id}"),
        ("DELETE", "/v1/notes/{note_id}"),
        ("DELETE", "/v1/me/sessions"),
        ("DELETE", "/v1/me/sessions/{session_id}"),
        ("POST", "/v1/notes"),  # see test_notes.py
        ("PATCH", "/v1/notes/{note_id}"),
        ("DELETE", "/v1/notes/{note_id}"),
    }


@pytest.mark.rule("X12")
async def test_request_without_a_change_is_not_logged(world: World) -> None:
    _, session, account = await world.ready()
    site = await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "www.example.com"}, headers=session)
    link = await world.call(
        "POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}, headers=session
    )
    key = (await world.call("POST", "/v1/keys", {"scopes": ["links"], "name": "CI"}, headers=session)).body["id"]
    before = await events_of(world, session)
    same: JSON = {"plan": "free", "name": account.name, "days_kept": 35, "months_kept": "forever"}
    unchanged: list[tuple[str, str, JSON | None]] = [
        ("PATCH", "/v1/me", {"notify": True}),
        ("PATCH", "/v1/me", {"language": None}),
        ("DELETE", "/v1/me/email", None),
        ("PATCH", f"/v1/keys/{key}", {"name": "CI"}),
        ("PATCH", f"/v1/accounts/{account.id}", {}),
        ("PATCH", f"/v1/accounts/{account.id}", same),
        ("PUT", f"/v1/accounts/{account.id}/link-host", {"host": "go.example.com"}),
        ("PATCH", f"/v1/sites/{made_id(site)}", {"respect_gpc": False}),
        ("PATCH", f"/v1/links/{made_id(link)}", {"url": "https://a.example"}),
        ("POST", "/v1/links/bulk", {"account_id": account.id, "links": [{"url": "no"}, {"url": "https://go.example.com"}]}),
        ("POST", f"/v1/links/{made_id(link)}/explain", {}),
    ]  # fmt: skip
    for method, path, body in unchanged:
        assert (await world.call(method, path, body, headers=session)).status in (200, 202), path
    refused: list[tuple[str, str, JSON | None, str]] = [
        ("POST", "/v1/sites", {"account_id": account.id, "host": "www.example.com"}, "site_exists"),
        ("PATCH", f"/v1/links/{made_id(link)}", {"url": "https://go.example.com"}, "invalid_request"),
        ("DELETE", f"/v1/links/{new_id('lnk')}", None, "not_found"),
    ]
    for method, path, nothing, code in refused:
        assert (await world.call(method, path, nothing, headers=session)).code == code
    world.supervisor.refusal = ServiceError("bootstrap_permission_error")
    asked = {"bootstrap_token": "t" * 40}
    assert (await world.call("POST", f"/v1/accounts/{account.id}/token", asked, headers=session)).status == 422
    assert await events_of(world, session) == before


@pytest.mark.rule("X12")
async def test_disconnect_is_logged_once_and_earlier_events_remain_readable(world: World) -> None:
    user, session, account = await world.ready()
    limited = await world.key(user, "accounts", allow_accounts=(EDGE_ACCOUNT,))
    for _ in range(2):
        assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=session)).status == 200
    assert short(await events_of(world, session)) == [("account.disconnect", account.id, "done")]
    assert short(await events_of(world, limited)) == [("account.disconnect", account.id, "done")]


@pytest.mark.rule("X12")
async def test_actions_without_a_credential_are_logged_with_their_address(world: World) -> None:
    await sign_up(world)
    assert (await confirm(world, await token_of(world, "confirm"))).status == 200
    signed_in = await sign_in(world, **client("192.0.2.7"))
    session = {"Authorization": f"Bearer {signed_in.body['access_token']}"}
    for _ in range(2):  # the second request has no effect
        assert (await world.call("POST", "/auth/sign-out", {}, headers=session)).status == 200
    await world.call("POST", "/auth/password-reset", {"email": EMAIL})
    chosen = {"token": await token_of(world, "reset"), "password": "another password"}
    for status in (200, 400):  # the link works only once
        assert (await world.call("POST", "/auth/password-reset/confirm", chosen)).status == status
    logged = await events_of(world, await session_of(world))
    assert [(event["via"], event["action"], event["outcome"]) for event in logged] == [
        ("nobody", "user.sign_up", "done"),
        ("mail", "user.confirm", "done"),
        ("session", "session.begin", "done"),
        ("session", "session.end", "done"),
        ("mail", "password.reset", "done"),
        ("session", "session.begin", "done"),
    ]
    assert logged[2]["ip"] == "192.0.2.7"
    begun, ended = logged[2]["target"], logged[3]["target"]
    assert begun == ended
    assert begun.startswith("ses_")
    assert {event["edge_account_id"] for event in logged} == {None}


@pytest.mark.rule("X12")
async def test_password_changes_and_ended_sessions_are_logged(world: World) -> None:
    await a_confirmed_user(world)
    session = {"Authorization": f"Bearer {(await sign_in(world)).body['access_token']}"}
    other = (await sign_in(world)).body["access_token"]
    listed = (await world.call("GET", "/v1/me/sessions", headers=session)).body["sessions"]
    [ended_id] = [each["id"] for each in listed if not each["current"]]
    assert (await world.call("DELETE", f"/v1/me/sessions/{ended_id}", headers=session)).status == 200
    assert (await world.call("GET", "/v1/me", headers={"Authorization": f"Bearer {other}"})).status == 401
    for old, status in (("not the password", 403), (PASSWORD, 200)):
        body = {"old": old, "new": "a further password"}
        assert (await world.call("POST", "/v1/me/password", body, headers=session)).status == status
    logged = await events_of(world, session)
    assert [(event["via"], event["action"], event["target"], event["outcome"]) for event in logged[-3:]] == [
        ("session", "session.end", ended_id, "done"),
        ("session", "password.refuse", None, "invalid_password"),
        ("session", "password.change", None, "done"),
    ]


async def session_of(world: World) -> dict[str, str]:
    signed_in = await sign_in(world, "another password")
    return {"Authorization": f"Bearer {signed_in.body['access_token']}"}


@pytest.mark.rule("X12")
async def test_two_wrong_passwords_per_hour_are_logged_and_none_for_unknown_addresses(world: World) -> None:
    await a_confirmed_user(world)
    most = world.config.limits.wrong_passwords_per_hour
    for _ in range(2):
        for _ in range(most + 2):
            await sign_in(world, "wrong password", **client("198.51.100.1"))
        world.clock.advance_s(3600)
    session = {"Authorization": f"Bearer {(await sign_in(world)).body['access_token']}"}
    logged = [event for event in await events_of(world, session) if event["action"] == "password.refuse"]
    assert [(event["via"], event["ip"], event["outcome"]) for event in logged] == [
        ("nobody", "198.51.100.1", "invalid_password"),
        ("nobody", "198.51.100.1", "rate_limited"),
    ] * 2
    rows = await world.store.read(count_events())
    for _ in range(most + 2):
        await sign_in(world, "wrong password", "unknown@example.com")
    assert await world.store.read(count_events()) == rows


def count_events() -> Tx[int]:
    rows = yield sql("select count(*) as n from events")
    return int(rows[0]["n"])


# ------------------------------------------------------------------------------------------------------------- reading


async def two_accounts(world: World) -> tuple[User, dict[str, str], Account, Account]:
    """Create a user with two accounts. There is one event about the user, and one about each account."""
    user, session, one = await world.ready()
    other = await world.account(user, OTHER_EDGE_ACCOUNT)
    await world.call("PATCH", "/v1/me", {"notify": False}, headers=session)
    for account in (one, other):
        await world.call("PATCH", f"/v1/accounts/{account.id}", {"plan": "paid"}, headers=session)
    return user, session, one, other


@pytest.mark.rule("X12", "C2", "C4")
async def test_key_sees_events_by_its_scopes_and_accounts(world: World) -> None:
    user, session, one, other = await two_accounts(world)
    own = ("user.change", None, "done")
    of_one, of_other = ("account.change", one.id, "done"), ("account.change", other.id, "done")
    assert short(await events_of(world, session)) == [own, of_one, of_other]
    assert short(await events_of(world, await world.key(user))) == [own, of_one, of_other]
    assert short(await events_of(world, await world.key(user, "accounts"))) == [of_one, of_other]
    limited = await world.key(user, *SCOPES, allow_accounts=(OTHER_EDGE_ACCOUNT,))
    assert short(await events_of(world, limited)) == [of_other]
    response = await world.call("GET", "/v1/events", headers=limited)
    assert {event["edge_account_id"] for event in response.body["events"]} == {OTHER_EDGE_ACCOUNT}
    nothing = await world.key(user, allow_accounts=())
    assert await events_of(world, nothing) == []
    refused = await world.call("GET", "/v1/events", headers=await world.key(user, "links", "sites", "reports"))
    assert (refused.status, refused.code) == (403, "scope_required")
    stranger = await world.session(await world.user())
    assert await events_of(world, stranger) == []


@pytest.mark.rule("X12", "X15")
async def test_newest_events_come_first_and_a_client_can_resume_after_the_last_one(world: World) -> None:
    _, session, _, _ = await two_accounts(world)
    every = (await world.call("GET", "/v1/events?order=oldest", headers=session)).body["events"]
    shown: list[JSON] = []
    more = ""
    while True:
        page = (await world.call("GET", f"/v1/events?limit=2{more}", headers=session)).body
        shown += page["events"]
        if "next_cursor" not in page:
            break
        assert page["next_cursor"] == page["events"][-1]["id"]
        more = f"&after={page['next_cursor']}"
    assert shown == every[::-1]
    feed = f"/v1/events?order=oldest&after={every[-1]['id']}"
    assert (await world.call("GET", feed, headers=session)).body == {"events": []}
    await world.call("PATCH", "/v1/me", {"notify": True}, headers=session)
    [new] = (await world.call("GET", feed, headers=session)).body["events"]
    assert new["action"] == "user.change"


@cases("after", ["", "x", "evt_", "lnk_" + "a" * 20, id_of(77, 1), "evt_" + "7" * 20, "evt_" + "A" * 20])
async def test_cursor_that_is_not_an_event_of_the_user_is_refused(world: World, after: str) -> None:
    user = await world.user()
    assert user.id != 77
    response = await world.call("GET", f"/v1/events?after={after}", headers=await world.session(user))
    assert (response.status, response.code) == (400, "invalid_request")
    assert response.body["error"]["details"]["issues"][0]["path"] == "after"


def test_event_id_encodes_user_and_number() -> None:
    for user_id, number in ((1, 1), (2, 1), (1, 2), (2**40, 2**50 - 1)):
        assert number_in(id_of(user_id, number), user_id) == number
        with pytest.raises(Invalid):
            number_in(id_of(user_id, number), user_id + 1)


# ----------------------------------------------------------------------------------------------------- random histories


@dataclass
class Client:
    """An API client with its own credential and address."""

    headers: dict[str, str]
    via: str
    ip: str


@dataclass
class Expected:
    """The events that the audit log should contain."""

    events: list[tuple[str, str, str, str | None, int]] = field(default_factory=list)

    def add(self, who: Client, action: str, target: str | None, count: int = 1) -> None:
        self.events.append((who.via, who.ip, action, target, count))


async def make_clients(world: World, user: User) -> list[Client]:
    """Create one client with a session, and three clients with keys that have different restrictions."""
    made = [Client(await world.session(user), "session", "192.0.2.1")]
    more: list[dict[str, Any]] = [{}, {"allow_accounts": (EDGE_ACCOUNT,)}, {"allow_ips": ("192.0.2.0/24",)}]
    for number, limits in enumerate(more, 2):
        headers = await world.key(user, **limits)
        listed = (await world.call("GET", "/v1/keys", headers=made[0].headers)).body["keys"]
        [new] = {key["id"] for key in listed} - {one.via for one in made}
        made.append(Client(headers, new, f"192.0.2.{number}"))
    return made


@pytest.mark.rule("X12", "G3")
@pytest.mark.parametrize("seed", range(3))
async def test_random_writes_are_logged_once_each_with_credential_and_address(world: World, seed: int) -> None:
    chance = random.Random(seed)  # use a seed, so that a failure can be reproduced
    user, _, account = await world.ready()
    clients, expected = await make_clients(world, user), Expected()
    links: list[str] = []

    async def call(who: Client, method: str, path: str, body: Any) -> Response:
        """Send a request once or twice with the same idempotency key. A different client may send the repeat."""
        responses = []
        key = f"key {chance.random()}"
        for _ in range(chance.choice((1, 1, 2))):
            peer = {"scope_base": {"client": (who.ip, 1)}}
            responses.append(
                await world.call(method, path, body, headers={**who.headers, "Idempotency-Key": key}, **peer)
            )
            who = who if chance.random() < 0.5 else clients[0]
        assert {response.raw for response in responses} == {responses[0].raw}
        return responses[0]

    for _ in range(40):
        who = chance.choice(clients)
        action = chance.choice(("add", "add", "change", "same", "delete", "many", "name"))
        link = chance.choice(links) if links else new_id("lnk")
        if action == "add":
            url = chance.choice(("https://example.org", "https://go.example.com/round"))
            response = await call(who, "POST", "/v1/links", {"account_id": account.id, "url": url})
            # otherwise, the URL was rejected because it points to the link host, or the user has reached the limit
            if response.status == 201:
                links.append(response.body["link"]["id"])
                expected.add(who, "link.create", links[-1])
        elif action in ("change", "same"):
            url = f"https://example.org/{chance.random() if action == 'change' else ''}"
            before = await world.call("GET", f"/v1/links/{link}", headers=clients[0].headers)
            response = await call(who, "PATCH", f"/v1/links/{link}", {"url": url})
            if response.status == 200 and response.body["link"]["url"] != before.body["link"]["url"]:
                expected.add(who, "link.change", link)
        elif action == "delete":
            if (await call(who, "DELETE", f"/v1/links/{link}", None)).status == 200:
                expected.add(who, "link.delete", link)
        elif action == "many":
            rows = [{"url": chance.choice(("https://example.org", "nonsense"))} for _ in range(3)]
            response = await call(who, "POST", "/v1/links/bulk", {"account_id": account.id, "links": rows})
            new = [row["link"]["id"] for row in response.body.get("results", ()) if "link" in row]
            links += new
            if new:
                expected.add(who, "link.create", account.id, len(new))
        else:
            name = f"name {chance.randint(1, 3)}"
            before = await world.call("GET", f"/v1/accounts/{account.id}", headers=clients[0].headers)
            await call(who, "PATCH", f"/v1/accounts/{account.id}", {"name": name})
            if before.body["account"]["name"] != name:
                expected.add(who, "account.change", account.id)
    shown = await events_of(world, clients[0].headers)
    found = [(event["via"], event["ip"], event["action"], event["target"], event["count"]) for event in shown]
    assert found == expected.events
    assert len(found) > 5

"""The owner of a disabled link or site sees the reason, and cannot undo or bypass it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.ids import new_id
from svc.store import moderation, syncs
from svc.store.links import changed_links
from svc.store.sites import changed_sites
from svc.store.tx import sql
from svc.worker.config_rows import rows_of
from tests.http.conftest import EDGE_ACCOUNT

if TYPE_CHECKING:
    from svc.model import Account
    from svc.store.moderation import TargetKind
    from tests.http.conftest import Ready, World

REASON = 'Phishing: <b>"report 7"</b> {x}'
URL = "https://example.org/"


async def disable(world: World, kind: TargetKind, target_id: str, reason: str = REASON) -> bool:
    [target] = await world.store.read(moderation.with_id(kind, target_id))
    return await world.store.run(moderation.disable(target, reason, world.clock()))


async def enable(world: World, kind: TargetKind, target_id: str) -> bool:
    [target] = await world.store.read(moderation.with_id(kind, target_id))
    return await world.store.run(moderation.enable(target, world.clock()))


async def add_link(world: World, session: dict[str, str], account: Account, code: str = "sale") -> Any:
    body = {"account_id": account.id, "url": URL, "code": code}
    return await world.call("POST", "/v1/links", body, headers=session)


async def add_site(world: World, session: dict[str, str], account: Account, host: str = "www.example.com") -> Any:
    return await world.call("POST", "/v1/sites", {"account_id": account.id, "host": host}, headers=session)


async def events_of(world: World, session: dict[str, str]) -> list[tuple[str, str, str | None]]:
    found = (await world.call("GET", "/v1/events", headers=session)).body["events"]
    return [(event["via"], event["action"], event["target"]) for event in found]


async def test_disabled_link_shows_the_reason_and_cannot_be_changed_or_recreated(world: World, ready: Ready) -> None:
    _, session, account = ready
    link = (await add_link(world, session, account)).body["link"]
    path = f"/v1/links/{link['id']}"
    assert "disabled" not in link
    assert await disable(world, "link", link["id"])
    disabled = {"at": link["created_at"], "reason": REASON}
    shown = (await world.call("GET", path, headers=session)).body["link"]
    [listed] = (await world.call("GET", "/v1/links", headers=session)).body["links"]
    assert (shown["disabled"], listed["disabled"], shown["state"]) == (disabled, disabled, "active")

    row = {"url": URL, "code": "sale"}
    bulk = {"account_id": account.id, "links": [row, {"url": URL, "code": "sale2"}]}
    for method, place, body in (
        ("PATCH", path, {"url": "https://example.org/other"}),
        ("PATCH", path, {"rules": [{"url": "https://example.org/other", "countries": ["DE"]}]}),
        ("POST", f"{path}/explain", {}),
        ("POST", "/v1/links", {"account_id": account.id, **row}),
    ):
        refused = await world.call(method, place, body, headers=session)
        assert (refused.status, refused.code) == (403, "link_disabled"), (method, place)
        assert refused.body["error"]["details"]["disabled"] == disabled
    results = (await world.call("POST", "/v1/links/bulk", bulk, headers=session)).body["results"]
    assert [result["error"]["code"] if "error" in result else None for result in results] == ["link_disabled", None]
    qr = await world.call("GET", f"{path}/qr.svg", headers=session)
    assert qr.status == 200  # the QR code of a disabled link is available, because it contains only the short URL
    assert b"example.org" not in qr.raw

    deleted = (await world.call("DELETE", path, headers=session)).body["link"]
    assert (deleted["state"], deleted["disabled"]) == ("deleted", disabled)
    assert (await add_link(world, session, account)).code == "link_disabled"
    # codes are case-sensitive, so this is another code
    assert (await add_link(world, session, account, "Sale")).status == 201
    assert (await world.call("GET", f"{path}/report", headers=session)).status == 200

    assert await enable(world, "link", link["id"])
    assert (await add_link(world, session, account)).status == 201
    assert "disabled" not in (await world.call("GET", path, headers=session)).body["link"]
    assert (await world.call("GET", path, headers=session)).body["link"]["state"] == "deleted"


async def test_disabled_site_shows_the_reason_and_cannot_be_changed_or_recreated(world: World, ready: Ready) -> None:
    _, session, account = ready
    site = (await add_site(world, session, account)).body["site"]
    path = f"/v1/sites/{site['id']}"
    assert "disabled" not in site
    assert await disable(world, "site", site["id"])
    disabled = {"at": site["created_at"], "reason": REASON}
    [listed] = (await world.call("GET", "/v1/sites", headers=session)).body["sites"]
    assert listed["disabled"] == disabled
    for method, place, body in (
        ("PATCH", path, {"excluded_paths": ["/x"]}),
        ("POST", f"{path}/rotate", None),
        ("POST", "/v1/sites", {"account_id": account.id, "host": "www.example.com"}),
    ):
        refused = await world.call(method, place, body, headers=session)
        assert (refused.status, refused.code) == (403, "site_disabled"), (method, place)
        assert refused.body["error"]["details"]["disabled"] == disabled
    deleted = (await world.call("DELETE", path, headers=session)).body["site"]
    assert (deleted["state"], deleted["disabled"]) == ("deleted", disabled)
    assert (await add_site(world, session, account)).code == "site_disabled"
    assert (await add_site(world, session, account, "blog.example.com")).status == 202
    assert await enable(world, "site", site["id"])
    assert (await add_site(world, session, account)).status == 202


async def test_another_connect_of_the_cloudflare_account_does_not_free_the_code_or_host(world: World) -> None:
    _, session, account = await world.ready()
    link = (await add_link(world, session, account)).body["link"]
    site = (await add_site(world, session, account)).body["site"]
    assert await disable(world, "link", link["id"])
    assert await disable(world, "site", site["id"])
    assert (await world.call("DELETE", f"/v1/accounts/{account.id}", headers=session)).status == 200
    other = await world.user()  # another user cannot use the code or the host either
    theirs = await world.session(other)
    again = await world.account(other, EDGE_ACCOUNT, link_host="go.example.com")
    assert (await add_link(world, theirs, again)).code == "link_disabled"
    assert (await add_site(world, theirs, again)).code == "site_disabled"
    elsewhere = await world.account(other, new_id("x")[-20:].rjust(32, "0"), link_host="go.example.com")
    assert (await add_link(world, theirs, elsewhere)).status == 201
    assert (await add_site(world, theirs, elsewhere)).status == 202
    # The disconnected account has no configuration that could be synced.
    assert await enable(world, "link", link["id"])
    assert (await add_link(world, theirs, again)).status == 201


async def test_disabled_targets_leave_the_configuration_and_return_to_it(world: World, ready: Ready) -> None:
    _, session, account = ready
    link = (await add_link(world, session, account)).body["link"]
    site = (await add_site(world, session, account)).body["site"]
    rotated = (await world.call("POST", f"/v1/sites/{site['id']}/rotate", headers=session)).body["site"]

    async def served_rows() -> set[str]:
        """Mark the configuration as synced, and check that the stored checksums match the rows that have a body. Return
        the keys of these rows.
        """
        shown = (
            await world.store.read(changed_links(account.id, 0)),
            await world.store.read(changed_sites(account.id, 0)),
        )
        [stored] = await world.store.read(_account_row(account.id))
        rows = rows_of(shown[1], shown[0], None, _kept(), 0)
        await world.store.run(_set_synced(account.id, stored["config_version"]))
        synced = await world.store.read(syncs.synced_rows(account.id))
        with_body = [row for row in rows if row.body is not None]
        assert synced is not None
        assert (synced.rows, synced.versions) == (len(with_body) + 1, sum(row.version for row in with_body) + 1)
        assert max(row.version for row in rows) == stored["config_version"]
        return {row.key for row in with_body}

    before = await served_rows()
    assert before == {
        "link:sale",
        f"path:www.example.com{site['path']}",
        f"path:www.example.com{rotated['path']}",
    }
    world.supervisor.woken.clear()
    assert await disable(world, "link", link["id"])
    assert await served_rows() == before - {"link:sale"}
    assert await disable(world, "site", site["id"])
    assert await served_rows() == set()
    assert set(world.supervisor.woken) == {EDGE_ACCOUNT}
    assert await enable(world, "site", site["id"])
    assert await enable(world, "link", link["id"])
    assert await served_rows() == before


def _kept() -> Any:
    from svc.model import WorkerSettings

    return WorkerSettings()


def _account_row(account_id: str) -> Any:
    return (yield sql("select config_version from accounts where id = $1", account_id))


def _set_synced(account_id: str, version: int) -> Any:
    yield sql("update accounts set synced_version = $2 where id = $1", account_id, version)


@pytest.mark.parametrize(("kind", "language"), [("link", "en"), ("site", "de")])
async def test_owner_is_notified_by_email_and_in_the_history(
    world: World, ready: Ready, kind: TargetKind, language: str
) -> None:
    user, session, account = ready
    await world.call("PATCH", "/v1/me", {"language": language}, headers=session)
    added = await (add_link if kind == "link" else add_site)(world, session, account)
    target_id = added.body[kind]["id"]
    assert await disable(world, kind, target_id)
    assert not await disable(world, kind, target_id, "another reason")
    assert await enable(world, kind, target_id)
    assert not await enable(world, kind, target_id)
    history = await events_of(world, session)
    assert history[:2] == [("operator", f"{kind}.enable", target_id), ("operator", f"{kind}.disable", target_id)]
    # the two emails have the same time, so their order is not defined
    emails = sorted(await world.inbox(), key=lambda text: "Phishing" not in text)
    assert len(emails) == 2
    name = "go.example.com/sale" if kind == "link" else "www.example.com"
    for text in emails:
        assert f"To: {user.email}" in text
        assert name in text
        assert f"https://svc.example/{kind}s/{target_id}" in text.replace("=\n", "")
    assert 'Phishing: <b>"report 7"</b> {x}' in emails[0].replace("=\n", "").replace("=3D", "=")
    assert ("gesperrt" in emails[0]) == (language == "de")
    assert ("wieder freigegeben" in emails[1]) == (language == "de")


async def test_unknown_codes_are_not_redirected_while_a_link_is_disabled(world: World, ready: Ready) -> None:
    _, session, account = ready
    path = f"/v1/accounts/{account.id}/link-host"
    link = (await add_link(world, session, account)).body["link"]
    wanted = {"root_url": "https://example.org/root", "not_found_url": URL}
    assert (await world.call("PATCH", path, wanted, headers=session)).status == 200
    assert await disable(world, "link", link["id"])
    shown = (await world.call("GET", f"/v1/accounts/{account.id}", headers=session)).body["account"]["link_host"]
    assert (shown["root_url"], shown["not_found_url"]) == (wanted["root_url"], None)
    for method, body in (("PATCH", wanted), ("PUT", {"host": "to.example.com", **wanted})):
        refused = await world.call(method, path, body, headers=session)
        assert (refused.status, refused.code) == (403, "link_disabled"), method
        assert "cannot redirect unknown codes" in refused.body["error"]["message"]
    assert (await world.call("PATCH", path, {"not_found_url": None}, headers=session)).status == 200
    assert await enable(world, "link", link["id"])
    assert (await world.call("PATCH", path, wanted, headers=session)).status == 200


async def test_deleted_link_cannot_be_disabled(world: World, ready: Ready) -> None:
    _, session, account = ready
    link = (await add_link(world, session, account)).body["link"]
    [stale] = await world.store.read(moderation.with_id("link", link["id"]))
    await world.call("DELETE", f"/v1/links/{link['id']}", headers=session)
    assert not await world.store.run(moderation.disable(stale, REASON, world.clock()))
    assert await world.inbox() == []
    assert (await add_link(world, session, account)).status == 201

"""Tests that a user cannot see whether the objects of another user exist."""

from __future__ import annotations

import pytest


@pytest.mark.rule("G10")
async def test_objects_of_another_user_are_not_found(world):
    _, session, account = await world.ready()
    site = (
        await world.call("POST", "/v1/sites", {"account_id": account.id, "host": "example.com"}, headers=session)
    ).body["site"]
    link = (
        await world.call("POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}, headers=session)
    ).body["link"]
    stranger = await world.session(await world.user())
    nothing = "aaaaaaaaaaaaaaaaaaaa"
    for theirs, missing in [
        (f"/v1/accounts/{account.id}", f"/v1/accounts/acc_{nothing}"),
        (f"/v1/accounts/{account.id}/zones", f"/v1/accounts/acc_{nothing}/zones"),
        (f"/v1/sites/{site['id']}", f"/v1/sites/site_{nothing}"),
        (f"/v1/sites/{site['id']}/report", f"/v1/sites/site_{nothing}/report"),
        (f"/v1/links/{link['id']}", f"/v1/links/lnk_{nothing}"),
        (f"/v1/links/{link['id']}/qr.svg", f"/v1/links/lnk_{nothing}/qr.svg"),
        (f"/v1/links/{link['id']}/report", f"/v1/links/lnk_{nothing}/report"),
    ]:
        assert (await world.call("GET", theirs, headers=session)).status == 200, theirs
        refused = await world.call("GET", theirs, headers=stranger)
        assert (refused.status, refused.code) == (404, "not_found"), theirs
        assert refused.raw == (await world.call("GET", missing, headers=stranger)).raw
    for method, path, body in [
        ("POST", f"/v1/accounts/{account.id}/install", None),
        ("PUT", f"/v1/accounts/{account.id}/link-host", {"host": "a.example.com"}),
        ("POST", "/v1/sites", {"account_id": account.id, "host": "b.example.com"}),
        ("POST", "/v1/links", {"account_id": account.id, "url": "https://a.example"}),
    ]:
        assert (await world.call(method, path, body, headers=stranger)).code == "not_found"
    for noun in ("accounts", "sites", "links"):
        assert (await world.call("GET", f"/v1/{noun}", headers=stranger)).body == {noun: []}

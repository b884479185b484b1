"""Tests of shares: the secrets that open a page, the limits, and the deletion of a share's owner or target."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import day_of
from svc.errors import Conflict, Forbidden, NotFound
from svc.ids import digest, new_id
from svc.store import links, shares, sites, user_deletions
from svc.store.sealed_secrets import reseal, sealed_secrets
from svc.store.shares import MAX_PER_TARGET, MAX_PER_USER
from svc.store.tx import Statement, many, sql
from tests.clock import START_MS
from tests.store.direct_changes import disable_user
from tests.store.makers import a_link, a_share, a_site, an_account, new_share, owner_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.store.tx import Store, Tx

TODAY = day_of(START_MS)


def statements_of(tx: Tx[Any], texts: list[str]) -> Tx[Any]:
    """Run the transaction, and append the text of each statement to `texts`."""
    try:
        step = next(tx)
        while True:
            if isinstance(step, Statement):
                texts.append(step.text)
            step = tx.send((yield step))
    except StopIteration as done:
        return done.value


def disable(table: str, target: str) -> Tx[None]:
    yield sql(f"update {table} set disabled_at = 1, disabled_reason = 'x' where id = $1", target)


def leave(user_id: int) -> Tx[None]:
    yield sql("update users set email = null where id = $1", user_id)


# The ways in which a share ends, by name. Each function receives the account, the site, the user and the secret.
ENDS: dict[str, Callable[[str, str, int, str], Tx[Any]]] = {
    "the share is deleted": lambda account, site, user, secret: _delete(user, secret),
    "the site is deleted": lambda account, site, user, secret: sites.delete_site(account, site),
    "the site is disabled": lambda account, site, user, secret: disable("sites", site),
    "the user is disabled": lambda account, site, user, secret: disable_user(user),
    "the user is being deleted": lambda account, site, user, secret: leave(user),
    "the last day has ended": lambda account, site, user, secret: _end(user, secret, TODAY - 1),
}


def _delete(user_id: int, secret: str) -> Tx[None]:
    rows = yield sql("select id from shares where digest = $1", digest(secret))
    yield from shares.delete_share(user_id, rows[0]["id"])


def _end(user_id: int, secret: str, until: int) -> Tx[None]:
    rows = yield sql("select id from shares where digest = $1", digest(secret))
    yield from shares.change_share(user_id, rows[0]["id"], {"until": until})


@pytest.mark.rule("Y13")
@pytest.mark.parametrize("how", ENDS)
async def test_ended_share_is_looked_up_like_an_unknown_secret(store: Store, how: str) -> None:
    account = await store.run(an_account())
    site = await store.run(a_site(account))
    user = await store.read(owner_of(account))
    secret = await store.run(a_share(account, site))
    found = await store.read(shares.available_share(digest(secret), TODAY))
    assert found is not None
    assert found.share.target == site
    await store.run(ENDS[how](account, site, user, secret))
    work: dict[str, list[str]] = {"ended": [], "unknown": []}
    for kind, asked in (("ended", secret), ("unknown", new_id("shs"))):
        assert await store.read(statements_of(shares.available_share(digest(asked), TODAY), work[kind])) is None
    assert work["ended"] == work["unknown"]
    assert len(work["unknown"]) == 1


@pytest.mark.rule("Y13")
async def test_share_is_available_until_the_end_of_its_last_day(store: Store) -> None:
    account = await store.run(an_account())
    site = await store.run(a_site(account))
    secret = await store.run(a_share(account, site, until=TODAY))
    assert await store.read(shares.available_share(digest(secret), TODAY)) is not None
    assert await store.read(shares.available_share(digest(secret), TODAY + 1)) is None


async def test_shares_of_links_and_accounts_end_with_them(store: Store) -> None:
    account = await store.run(an_account())
    link = await store.run(a_link(account))
    of_link = await store.run(a_share(account, link, "link"))
    of_account = await store.run(a_share(account, account, "account"))
    for secret in (of_link, of_account):
        assert await store.read(shares.available_share(digest(secret), TODAY)) is not None
    await store.run(links.delete_link(account, link, START_MS))
    await store.run(_remove_account(account))
    for secret in (of_link, of_account):
        assert await store.read(shares.available_share(digest(secret), TODAY)) is None


def _remove_account(account_id: str) -> Tx[None]:
    yield sql("delete from links where account_id = $1", account_id)
    yield sql("delete from accounts where id = $1", account_id)


async def test_number_of_shares_is_limited(store: Store) -> None:
    account = await store.run(an_account())
    site, other = await store.run(a_site(account)), await store.run(a_site(account, "b.example.com"))
    user = await store.read(owner_of(account))
    for _ in range(MAX_PER_TARGET):
        await store.run(a_share(account, site))
    with pytest.raises(Forbidden, match="50 shares for this object"):
        await store.run(a_share(account, site))
    await store.run(a_share(account, other))
    await store.run(_fill(user, account, MAX_PER_USER - MAX_PER_TARGET - 1))
    with pytest.raises(Forbidden, match="1,000 shares in total"):
        await store.run(a_share(account, other))


def _fill(user_id: int, account_id: str, count: int) -> Tx[None]:
    """Add shares of sites that do not exist."""
    yield many(
        "insert into shares (id, user_id, account_id, target_kind, target, name, digest, sealed_secret, lists, embed,"
        " created_at) values ($1, $2, $3, 'site', $4, 'x', $5, $6, 0, '[]', 1)",
        [(f"shr_{n}", user_id, account_id, f"site_{n}", f"digest {n}", b"x") for n in range(count)],
    )


async def test_deleted_target_cannot_be_shared(store: Store) -> None:
    account = await store.run(an_account())
    site, link = await store.run(a_site(account)), await store.run(a_link(account))
    await store.run(sites.delete_site(account, site))
    await store.run(links.delete_link(account, link, START_MS))
    with pytest.raises(Conflict):
        await store.run(a_share(account, site))
    for kind, target in (("link", link), ("link", new_id("lnk")), ("site", new_id("site")), ("account", new_id("acc"))):
        with pytest.raises(NotFound):
            await store.run(a_share(account, target, kind))


async def test_another_user_can_neither_change_nor_delete_a_share(store: Store) -> None:
    account = await store.run(an_account())
    site = await store.run(a_site(account))
    user = await store.read(owner_of(account))
    share = new_share(user, account, site)
    await store.run(shares.add_share(share, "digest"))
    for attack in (shares.delete_share(user + 1, share.id), shares.change_share(user + 1, share.id, {"name": "x"})):
        with pytest.raises(NotFound):
            await store.run(attack)
    assert await store.read(shares.get_share(user + 1, share.id)) is None
    assert await store.read(shares.get_share(user, share.id)) == share


async def test_reseal_replaces_the_secret_of_a_share_unless_it_was_changed(store: Store) -> None:
    account = await store.run(an_account())
    site = await store.run(a_site(account))
    share = new_share(await store.read(owner_of(account)), account, site, sealed_secret=b"old")
    await store.run(shares.add_share(share, "digest"))
    assert (await store.read(sealed_secrets()))[share.id] == b"old"
    assert not await store.run(reseal(share.id, b"another", b"new"))
    assert await store.run(reseal(share.id, b"old", b"new"))
    assert (await store.read(sealed_secrets()))[share.id] == b"new"


async def test_shares_are_deleted_with_their_user(store: Store) -> None:
    account = await store.run(an_account())
    site = await store.run(a_site(account))
    user = await store.read(owner_of(account))
    await store.run(a_share(account, site))
    assert user_deletions.forget_shares in user_deletions.FORGET
    assert await store.run(user_deletions.forget_shares(user)) is False
    assert await store.read(shares.list_shares(site)) == []


@pytest.mark.rule("Y13")
async def test_sites_that_an_account_does_not_show_are_looked_up_like_unknown_sites(store: Store) -> None:
    account = await store.run(an_account())
    user = await store.read(owner_of(account))
    own, others = await store.run(an_account(user, link_host=False)), await store.run(an_account(link_host=False))
    shown, deleted, disabled = [await store.run(a_site(account, f"{host}.example.com")) for host in "abc"]
    elsewhere = [await store.run(a_site(one, "d.example.com")) for one in (own, others)]
    await store.run(sites.delete_site(account, deleted))
    await store.run(disable("sites", disabled))
    found = await store.read(shares.available_site(account, shown))
    assert found is not None
    assert (found.id, found.host) == (shown, "a.example.com")
    work: dict[str, list[str]] = {}
    for asked in (new_id("site"), deleted, disabled, *elsewhere):
        texts = work.setdefault(asked, [])
        assert await store.read(statements_of(shares.available_site(account, asked), texts)) is None
    assert len({tuple(texts) for texts in work.values()}) == 1
    assert all(len(texts) == 1 for texts in work.values())


async def test_totals_of_an_account_leave_out_deleted_and_disabled_sites(store: Store) -> None:
    account = await store.run(an_account())
    hosts = {host: await store.run(a_site(account, f"{host}.example.com")) for host in ("a", "b", "c", "d")}
    for host, views in (("a", 5), ("b", 50), ("c", 500), ("d", 5_000)):
        await store.run(_count(hosts[host], views))
    await store.run(sites.delete_site(account, hosts["c"]))
    await store.run(disable("sites", hosts["d"]))
    found = await store.read(shares.site_totals(account, TODAY - 1, TODAY))
    assert [(site.host, site.counts.views) for site in found] == [("b.example.com", 100), ("a.example.com", 10)]
    assert await store.read(shares.first_day_of_sites(account)) == TODAY - 2


def _count(site: str, views: int) -> Tx[None]:
    yield many(
        "insert into days (target, day, views, bots, visitors, as_of, final) values ($1, $2, $3, 0, 0, 0, 1)",
        [(site, TODAY - n, views) for n in range(3)],
    )

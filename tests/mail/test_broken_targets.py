"""The email about broken targets lists the targets that are still broken when it is sent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from svc.clock import day_of
from svc.mail.compose import Draft, Terms, compose
from svc.model import Rule
from svc.store import broken_targets, links, moderation, notifications
from svc.store.tx import sql
from tests.clock import START_MS
from tests.store.direct_changes import confirm_address, disable_user
from tests.store.makers import a_broken_target, a_link, an_account, owner_of

if TYPE_CHECKING:
    from svc.mail.compose import Composed
    from svc.store.tx import Tx

pytestmark = pytest.mark.rule("Y18")

DRAFT = Draft(Terms("https://svc.example", 86_400), "svm_x", START_MS)
A, B = "https://a.example/sale", "https://b.example/"


def with_email() -> Tx[tuple[str, str, int]]:
    """Queue an email about two broken targets of a link. Return the ids of the account, the link and the user."""
    account_id = yield from an_account()
    user_id = yield from owner_of(account_id)
    yield from confirm_address(user_id)
    link_id = yield from a_link(account_id, url=A, rules=(Rule(B, ("DE",)),))
    yield from a_broken_target(A)
    yield from a_broken_target(B, "unknown_host")
    assert (yield from broken_targets.notify(user_id, day_of(START_MS), START_MS)) == 2
    return account_id, link_id, user_id


def composed() -> Tx[Composed | None]:
    rows = yield sql("select id from outbox where kind = 'broken_targets'")
    if not rows:
        return None
    return (yield from compose(rows[0]["id"], DRAFT, START_MS + 60_000))


def waiting() -> Tx[list[Any]]:
    return (yield sql("select id from outbox where kind = 'broken_targets'"))


async def test_email_lists_each_target_with_its_problem(store):
    await store.run(with_email())
    made = await store.run(composed())
    assert made is not None
    assert made.email.subject == "Broken targets of your links: 2"
    assert "- go.example.com/sale26: https://a.example/sale (page not found, status 404)" in made.email.text
    assert "- go.example.com/sale26: https://b.example/ (the host name does not exist)" in made.email.text
    assert "https://svc.example/links?state=broken" in made.email.text


async def test_email_omits_a_target_that_was_changed(store):
    account_id, link_id, _ = await store.run(with_email())
    await store.run(links.change_link(account_id, link_id, {"url": "https://c.example/"}))
    made = await store.run(composed())
    assert made is not None
    assert (made.email.subject, A in made.email.text) == ("Your link sale26 has a broken target", False)


@pytest.mark.parametrize("what", ["deleted", "disabled", "changed", "notify", "user disabled"])
async def test_no_email_is_sent_if_it_is_no_longer_needed(store, what):
    account_id, link_id, user_id = await store.run(with_email())
    if what == "deleted":
        await store.run(links.delete_link(account_id, link_id, START_MS))
    elif what == "disabled":
        [target] = await store.read(moderation.with_id("link", link_id))
        await store.run(moderation.disable(target, "phishing", START_MS))
    elif what == "changed":
        await store.run(links.change_link(account_id, link_id, {"url": "https://c.example/", "rules": ()}))
    elif what == "notify":
        await store.run(notifications.set_notify(user_id, notify=False))
    else:
        await store.run(disable_user(user_id))
    assert await store.run(composed()) is None
    assert await store.read(waiting()) == []

"""Tests that add links directly and not over HTTP: the function that commits the transaction, and random codes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from svc.actors.context import Context
from svc.actors.requests import links
from svc.config import Config
from svc.errors import Conflict
from svc.model import WantedLink
from svc.store import accounts
from svc.store.link_lists import LinkFilter, list_links
from tests.store.makers import an_account

if TYPE_CHECKING:
    from svc.model import Account, Link
    from svc.store.tx import Tx

URL = "https://shop.example.com/sale"


@pytest.fixture
def context(store, clock):
    none = cast("Any", None)  # a new link needs no call to Cloudflare
    return Context(store=store, edge=none, vault=none, config=Config(), clock=clock, bundle=none, push_url="")


@pytest.fixture
async def account(store) -> Account:
    return accounts.present(await store.read(accounts.account_by_id(await store.run(an_account()))))


async def codes_of(context: Context, account: Account) -> list[str]:
    return [link.code for link in await context.store.read(list_links(LinkFilter(account.user_id)))]


class TakenCodes:
    """Wraps the commit of a link, and treats the first `times` codes as taken."""

    def __init__(self, times: int) -> None:
        self.codes: list[str] = []
        self._times = times

    def __call__(self, effect: Tx[Link]) -> Tx[str]:
        """Add the link and return its code. Raises Conflict if the code counts as taken."""
        link = yield from effect
        self.codes.append(link.code)
        if len(self.codes) <= self._times:
            raise Conflict("link_exists")
        return link.code


async def test_caller_gets_the_value_of_its_wrapper(context, account):
    code = await links.add(context, account, WantedLink(URL, "sale"), TakenCodes(0))
    assert code == "sale"
    assert await codes_of(context, account) == ["sale"]


async def test_wrapper_can_roll_back_the_effect(context, account):
    with pytest.raises(Conflict):
        await links.add(context, account, WantedLink(URL, "sale"), TakenCodes(1))
    assert await codes_of(context, account) == []


@pytest.mark.rule("L1")
async def test_taken_random_code_is_followed_by_another(context, account):
    commit = TakenCodes(3)
    code = await links.add(context, account, WantedLink(URL, None), commit)
    assert len(set(commit.codes)) == 4
    assert await codes_of(context, account) == [code] == commit.codes[3:]


@pytest.mark.rule("L1")
async def test_requested_code_is_tried_once(context, account):
    commit = TakenCodes(1)
    with pytest.raises(Conflict):
        await links.add(context, account, WantedLink(URL, "sale"), commit)
    assert commit.codes == ["sale"]

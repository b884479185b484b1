"""Tests of random codes for a batch of links."""

from __future__ import annotations

import pytest

from svc.actors.requests.bulk import add_wanted
from svc.errors import ServiceError
from svc.model import Link, WantedLink
from svc.store import accounts
from tests.store.makers import an_account

URL = "https://a.example/"


@pytest.mark.rule("X2")
async def test_random_code_that_is_taken_is_drawn_again(store):
    account = accounts.present(await store.read(accounts.account_by_id(await store.run(an_account()))))
    taken = [WantedLink(URL, f"code-{letter}") for letter in "abcd"]
    await store.run(add_wanted(account, taken, 100, 1))
    before = accounts.present(await store.read(accounts.account_by_id(account.id)))
    # Most of the codes that are drawn are not available, because the account, the batch or an earlier draw already uses
    # them.
    letters = iter("aabbcecdefffgeghhh")
    wanted: list[WantedLink | ServiceError] = [
        *[WantedLink(URL, None)] * 3,
        ServiceError("invalid_request"),
        WantedLink(URL, "code-e"),
    ]
    made = await store.run(add_wanted(account, wanted, 100, 2, lambda: f"code-{next(letters)}"))
    codes = [one.code if isinstance(one, Link) else None for one in made]
    assert ({*codes[:3]}, codes[3:]) == ({"code-f", "code-g", "code-h"}, [None, "code-e"])
    after = accounts.present(await store.read(accounts.account_by_id(account.id)))
    assert after.config_version == before.config_version + 1

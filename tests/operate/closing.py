"""Runs the steps of docs/operate/closing.md, with an account in the store of the test's place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store import open_store
from tests.operate.documents import elsewhere
from tests.store.makers import an_account

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


async def listed(place: Place, block: Block) -> None:
    """Create the account, then check that the commands find it."""
    url = f"sqlite:///{place.folder}/svc.db"
    place.settings |= {"SVC_HTTP_BASE_URL": "https://svc.example.com", "SVC_STORE_URL": url}
    async with open_store(StoreConfig(url=SecretStr(url))) as store:
        account_id = await store.run(an_account(edge_account_id="0123456789abcdef" * 2))
    said = await place.run(block)
    assert said.count(account_id) == 2


STEPS: dict[str, Step | NotHere] = {
    "svc account list --sort newest": listed,
    "svc account disconnect --all": elsewhere(
        "tests/journeys/test_operator_disconnect.py::test_operator_disconnects_all_accounts_through_a_kill"
    ),
}

"""Steps of docs/operate/abuse.md, with a link and a site in the place's store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store import open_store
from tests.store.makers import a_link, a_site, an_account

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


async def disabled(place: Place, block: Block) -> None:
    """Create the objects, then check that the commands disable them."""
    url = f"sqlite:///{place.folder}/svc.db"
    place.settings |= {"SVC_HTTP_BASE_URL": "https://svc.example.com", "SVC_STORE_URL": url}
    async with open_store(StoreConfig(url=SecretStr(url))) as store:
        account_id = await store.run(an_account())
        await store.run(a_link(account_id, "sale"))
        await store.run(a_site(account_id, "shop.example.com"))
    said = await place.run(block)
    assert "link go.example.com/sale (lnk_" in said
    assert "site shop.example.com (site_" in said
    assert said.count(" is disabled\n") == 2
    assert said.count("no service is running") == 2


async def enabled(place: Place, block: Block) -> None:
    """Check that the commands enable the objects again."""
    assert (await place.run(block)).count(" is enabled\n") == 2


STEPS: dict[str, Step | NotHere] = {
    'svc link disable https://go.example.com/sale --reason "Phishing: imitates a bank"': disabled,
    "svc link enable https://go.example.com/sale": enabled,
}

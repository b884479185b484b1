"""How the blocks of docs/operate/upgrade.md are run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store import open_store
from tests.operate.documents import by_hand

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


async def looked(place: Place, block: Block) -> None:
    """It says its version, and that all is well."""
    place.settings |= {"SVC_HTTP_BASE_URL": "https://svc.example.com"}
    said = await place.run(block)
    assert said.startswith("svc 0.8.0\n")
    assert "FAIL" not in said


async def none_yet(place: Place, block: Block) -> None:
    """No service has run here; tests/commands/test_commands.py and tests/journeys/test_rollout.py have one that has."""
    async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{place.folder / 'var/svc.db'}"))):
        pass
    assert "no update of workers has begun" in await place.run(block)


STEPS: dict[str, Step | NotHere] = {
    "svc --version": looked,
    "svc rollout status": none_yet,
    "sudo systemctl stop svc.socket svc.service": by_hand(
        "a running systemd, and packages of two versions; tests/store/engines/test_migrations.py refuses a newer store"
    ),
}

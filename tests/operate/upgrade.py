"""Steps of docs/operate/upgrade.md."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import SecretStr

from svc.config import StoreConfig
from svc.store import open_store
from tests.operate.documents import by_hand

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


async def check(place: Place, block: Block) -> None:
    """Check the version, and that all checks pass."""
    place.settings |= {"SVC_HTTP_BASE_URL": "https://svc.example.com"}
    said = await place.run(block)
    assert said.startswith("svc 0.8.0\n")
    assert "FAIL" not in said


async def status(place: Place, block: Block) -> None:
    """Check the output when there is no rollout. tests/commands/test_commands.py and tests/journeys test rollouts."""
    async with open_store(StoreConfig(url=SecretStr(f"sqlite:///{place.folder / 'var/svc.db'}"))):
        pass
    assert "no rollout has started" in await place.run(block)


STEPS: dict[str, Step | NotHere] = {
    "svc --version": check,
    "svc rollout status": status,
    "sudo systemctl stop svc.socket svc.service": by_hand(
        "needs a running systemd and two versions; tests/store/engines/test_migrations.py covers a newer store"
    ),
}

"""How the blocks of docs/operate/backup.md are run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import trio
from pydantic import SecretStr

from svc.config import Config, StoreConfig
from tests.backup.places import add_user, config_of, emails_of, fill
from tests.operate.documents import by_hand, done

if TYPE_CHECKING:
    from tests.operate.documents import Block, NotHere, Place, Step


def config(place: Place) -> Config:
    """The service of this place, with no setting but those of everybody."""
    return config_of(place.folder / "var")


async def made(place: Place, block: Block) -> None:
    """Of a service with a user, an account and its token."""
    place.settings |= {
        "SVC_HTTP_BASE_URL": "https://svc.example.com",
        "NEW_STORE_URL": f"sqlite:///{place.folder / 'var/other.db'}",
    }
    await trio.to_thread.run_sync(fill, config(place))
    said = await place.run(block)
    assert "its key opens 1 of 1 tokens. It is whole." in said


async def verified(place: Place, block: Block) -> None:
    """The stream holds what the file held."""
    assert "its key opens 1 of 1 tokens. It is whole." in await place.run(block)


async def restored(place: Place, block: Block) -> None:
    """What came after the backup is gone from the store, which is kept beside."""
    before = await trio.to_thread.run_sync(emails_of, config(place))
    await trio.to_thread.run_sync(add_user, config(place), "later@example.com")
    assert "is now var/svc.db.before-restore-" in await place.run(block)
    assert await trio.to_thread.run_sync(emails_of, config(place)) == before


async def looked(place: Place, block: Block) -> None:
    """All is well. The restored store is of before its own backup: it knows of none."""
    said = await place.run(block)
    assert "FAIL" not in said
    assert "opens 1 tokens" in said


async def practised(place: Place, block: Block) -> None:
    """The same is told of both backups, and nothing stays."""
    told = re.findall(r": (\d+ users, .* rows in all);", await place.run(block))
    assert len(told) == 3
    assert len(set(told)) == 1
    assert not (place.folder / "drill").exists()


async def rotated(place: Place, block: Block) -> None:
    """The token has moved."""
    assert "1 tokens were sealed" in await place.run(block)


async def copied(place: Place, block: Block) -> None:
    """The same users are on the other side."""
    await place.run(block)
    other = Config(store=StoreConfig(url=SecretStr(place.settings["NEW_STORE_URL"])))
    there = await trio.to_thread.run_sync(emails_of, other)
    assert there == await trio.to_thread.run_sync(emails_of, config(place))


async def asked(place: Place, block: Block) -> None:
    """Each account is."""
    assert "1 accounts will be asked" in await place.run(block)
    (place.folder / "backup.tar").unlink()  # the key is in it, which no file of a test may show in the end


STEPS: dict[str, Step | NotHere] = {
    "svc backup backup.tar": made,
    "svc backup - | gzip > backup.tar.gz": done,
    "gzip -dc backup.tar.gz | svc verify -": verified,
    "sudo systemctl enable --now svc-backup.timer": by_hand("a running systemd"),
    "svc restore backup.tar --replace": restored,
    "gzip -dc backup.tar.gz | svc restore - --replace": restored,
    "svc check": looked,
    "mkdir drill": practised,
    "svc vault rotate": rotated,
    "svc vault rotate --drop-old": done,
    'svc store copy --to "$NEW_STORE_URL"': copied,
    "svc store recovered": asked,
}

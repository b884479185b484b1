"""Steps of docs/operate/backup.md."""

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
    """Return the configuration of the service in the folder of `place`."""
    return config_of(place.folder / "var")


async def create(place: Place, block: Block) -> None:
    """Back up a service with a user, an account with its token, and two shares."""
    place.settings |= {
        "SVC_HTTP_BASE_URL": "https://svc.example.com",
        "NEW_STORE_URL": f"sqlite:///{place.folder / 'var/other.db'}",
    }
    await trio.to_thread.run_sync(fill, config(place))
    said = await place.run(block)
    assert "its key decrypts 3 of 3 tokens. It is complete." in said


async def verify(place: Place, block: Block) -> None:
    """Check that `svc verify` finds a complete backup in the compressed stream."""
    assert "its key decrypts 3 of 3 tokens. It is complete." in await place.run(block)


async def restore(place: Place, block: Block) -> None:
    """Check that the restored store lacks a user who was added later, and that the previous store is kept."""
    before = await trio.to_thread.run_sync(emails_of, config(place))
    await trio.to_thread.run_sync(add_user, config(place), "later@example.com")
    assert "is now var/svc.db.before-restore-" in await place.run(block)
    assert await trio.to_thread.run_sync(emails_of, config(place)) == before


async def check(place: Place, block: Block) -> None:
    """Check that `svc check` reports no failure, although the restored store has no record of the backup."""
    said = await place.run(block)
    assert "FAIL" not in said
    assert "decrypts 3 tokens" in said


async def practise(place: Place, block: Block) -> None:
    """Check that all summaries are equal, and that the drill's folder is removed."""
    summaries = re.findall(r": (\d+ users?, .* rows in total);", await place.run(block))
    assert len(summaries) == 3
    assert len(set(summaries)) == 1
    assert not (place.folder / "drill").exists()


async def rotate(place: Place, block: Block) -> None:
    """Check that all secrets were re-encrypted."""
    assert "Re-encrypted 3 secrets " in await place.run(block)


async def copy(place: Place, block: Block) -> None:
    """Check that the copy has the same users."""
    await place.run(block)
    other = Config(store=StoreConfig(url=SecretStr(place.settings["NEW_STORE_URL"])))
    copied = await trio.to_thread.run_sync(emails_of, other)
    assert copied == await trio.to_thread.run_sync(emails_of, config(place))


async def request_totals(place: Place, block: Block) -> None:
    """Check that the service will request totals from the account's Worker."""
    assert "read totals from the Workers of 1 account " in await place.run(block)
    # delete the backup, because it contains the key, and tests must not leave secrets in files
    (place.folder / "backup.tar").unlink()


STEPS: dict[str, Step | NotHere] = {
    "svc backup backup.tar": create,
    "(umask 077; svc backup - | gzip > backup.tar.gz)": done,
    "gzip -dc backup.tar.gz | svc verify -": verify,
    "sudo systemctl enable --now svc-backup.timer": by_hand("a running systemd"),
    "svc restore backup.tar --replace": restore,
    "gzip -dc backup.tar.gz | svc restore - --replace": restore,
    "svc check": check,
    "mkdir drill": practise,
    "svc vault rotate": rotate,
    "svc vault rotate --drop-old": done,
    'svc store copy --to "$NEW_STORE_URL"': copy,
    "svc store recovered": request_totals,
}

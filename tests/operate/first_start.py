"""Steps of docs/operate/first-start.md: try the service in a folder, then set it up as the package does."""

from __future__ import annotations

import secrets
import socket
import tomllib
from contextlib import suppress
from pathlib import Path

from svc.config import load
from svc.model import User
from svc.store import open_store, users
from tests.operate.documents import Block, Place, by_hand

_CONFIG = "etc/svc/config.toml"


def _free_bind() -> str:
    """Return a free address for the service. The port is below the ephemeral ports, so the system assigns it to no
    other program.
    """
    while True:
        port = secrets.choice(range(10_000, 32_000))
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return f"127.0.0.1:{port}"


async def _serve(place: Place, block: Block) -> None:
    place.settings["SVC_HTTP_BIND"] = _free_bind()
    await place.start(block)


async def _health_and_user(place: Place, block: Block) -> None:
    assert f"{place.url} is healthy" in await place.run(block, "a long password\n")
    assert await _user(place, "you@example.com") is not None
    await place.stop()
    log = (place.folder / "log").read_text()
    for expected in (f"{place.folder}/var/svc.db", "svc docs first-start", "svc user add", f"{place.url}/reference"):
        assert expected in log
    assert "Connection refused" in await place.run(block, fails=True)


async def _init(place: Place, block: Block) -> None:
    (place.folder / _CONFIG).write_text("# as installed by the package\n")
    said = await place.run(block, "yes\nhttps://svc.example.com\n\n\n\n\n\n")
    assert "Which mail server?" in said
    config = load(place.folder / _CONFIG, {})
    assert (config.http.base_url, config.auth.sign_up) == ("https://svc.example.com", "closed")
    # The default data folder is `var`, because the configuration is not in the real /etc/svc.
    written = (place.folder / _CONFIG).read_text().replace(f"{place.folder}/var/", f"{place.folder}/var/lib/svc/")
    (place.folder / _CONFIG).write_text(written)


async def _check(place: Place, block: Block) -> None:
    said = await place.run(block)
    assert "FAIL" not in said
    assert f"ok   key file: {place.folder}/var/lib/svc/vault.key will be created" in said


async def _first_user(place: Place, block: Block) -> None:
    await place.run(block, "a long password\n")
    assert await _user(place, "you@example.com") is not None


async def _unattended(place: Place, block: Block) -> None:
    before = tomllib.loads((place.folder / _CONFIG).read_text())
    await place.run(block)
    assert tomllib.loads((place.folder / _CONFIG).read_text()) == before


async def _plan(place: Place, block: Block) -> None:
    await place.run(block)
    user = await _user(place, "you@example.com")
    assert user is not None
    assert user.plan == "api"


async def _user(place: Place, email: str) -> User | None:
    """Return the user with this address from the place's store, or None."""
    path = Path(place.folder / _CONFIG)
    url = f"sqlite:///{place.folder / 'var/svc.db'}"
    config = load(path, {}) if path.exists() else load(None, {"SVC_STORE_URL": url})
    async with open_store(config.store) as store:
        found = await store.read(users.find_user(email))
    return None if found is None else found[0]


STEPS = {
    "svc serve": _serve,
    "svc health": _health_and_user,
    "sudo svc init --config /etc/svc/config.toml": _init,
    "sudo -u svc svc check --config /etc/svc/config.toml": _check,
    "sudo -u svc svc user add you@example.com --confirmed --config /etc/svc/config.toml": _first_user,
    "sudo systemctl enable --now svc.socket svc.service": by_hand(
        "needs a running systemd; tests/process/test_systemd.py simulates one"
    ),
    "sudo svc init --yes --replace --config /etc/svc/config.toml \\": _unattended,
    "sudo -u svc svc user plan you@example.com api --config /etc/svc/config.toml": _plan,
    "sudo systemctl restart svc.service": by_hand(
        "needs a running systemd; tests/journeys/test_restart.py restarts under load"
    ),
}

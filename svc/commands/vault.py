"""The key that seals working tokens: another one, and no more of the old ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.tx import Store


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this file; `shared`: what every command takes."""
    vault = commands.add_parser("vault", help="the key that seals working tokens").add_subparsers(
        required=True, metavar="ACTION"
    )
    rotate = vault.add_parser(
        "rotate",
        parents=[shared],
        help="put a new key on top of the key file and seal every token with it, also beside a running service",
    )
    rotate.add_argument(
        "--drop-old",
        action="store_true",
        help="make no new key: remove all but the newest one, once every token is sealed with it; no service may run",
    )
    rotate.set_defaults(command=_rotate)


def _rotate(config: Config, arguments: argparse.Namespace) -> int:
    from svc.config import ConfigError
    from svc.security.vault import changing, new_key, read_keys, write_keys
    from svc.store import open_store

    path = config.vault.key_file
    drop = arguments.drop_old

    async def run() -> tuple[int, int]:
        # Alone, no service can seal with a key that is being removed.
        async with open_store(config.store, serving=drop, as_is=True) as store:
            keys = read_keys(path)
            if not drop:
                keys = [new_key(), *keys]
                write_keys(path, keys)
            resealed, lost = await _reseal(store, keys)
            if drop and len(keys) > 1:
                write_keys(path, keys[:1])
            return resealed, lost

    try:
        with changing(path):
            resealed, lost = trio.run(run)
    except OSError as error:
        raise ConfigError(f"The key file {path} cannot be changed: {error.strerror or error}") from error
    print(f"{resealed} tokens were sealed with the newest key of {path}")
    if lost:
        print(f"{lost} tokens open with no key that is there: their accounts need new ones")
    if not drop:
        print("The keys before are still in it. To remove them, stop the service and run svc vault rotate --drop-old.")
    print("Backups that were made before are opened by the keys that they carry.")
    return 0


async def _reseal(store: Store, keys: list[bytes]) -> tuple[int, int]:
    """Seal with the first key what only the others open, each token in a transaction of its own.

    Returns how many were sealed, and how many none of the keys opens. Cut short, it is done again.
    """
    from svc.security.vault import Vault
    from svc.store.working_tokens import reseal, sealed_tokens

    newest, every = Vault(keys[:1]), Vault(keys)
    resealed = 0
    while True:
        found = (await store.read(sealed_tokens())).items()
        older = {account_id: box for account_id, box in found if not newest.opens(box, account_id)}
        left = {account_id: box for account_id, box in older.items() if every.opens(box, account_id)}
        for account_id, box in left.items():
            again = newest.seal(every.open(box, account_id), account_id)
            resealed += await store.run(reseal(account_id, box, again))
        if not left:  # none that a service sealed meanwhile
            return resealed, len(older)

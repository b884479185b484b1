"""`svc vault rotate`: replace the key that encrypts tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from svc.commands.arguments import add_command, add_group
from svc.commands.output import plural

if TYPE_CHECKING:
    import argparse

    from svc.commands.arguments import Commands
    from svc.config import Config
    from svc.store.tx import Store


def add_to(commands: Commands, shared: argparse.ArgumentParser) -> None:
    """Add the commands of this module. `shared` holds the options common to all commands."""
    vault = add_group(commands, "vault", "manage the key that encrypts secrets")
    rotate = add_command(
        vault,
        shared,
        "rotate",
        "add a new key to the key file and re-encrypt all secrets with it; the service can keep running",
    )
    rotate.add_argument(
        "--drop-old",
        action="store_true",
        help="add no key; re-encrypt all secrets with the newest key, then remove old keys (stop the service first)",
    )
    rotate.set_defaults(command=_rotate)


def _rotate(config: Config, arguments: argparse.Namespace) -> int:
    from svc.config import ConfigError
    from svc.security.vault import changing, new_key, read_keys, write_keys
    from svc.store import open_store

    path = config.vault.key_file
    drop = arguments.drop_old

    async def run() -> tuple[int, int]:
        # To remove keys, open the store exclusively, so that no service encrypts with a key that is being removed.
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
    print(f"Re-encrypted {plural(resealed, 'secret')} with the newest key in {path}.")
    if lost:
        print(
            f"No key decrypts {plural(lost, 'secret')}. Working tokens among them must be renewed. Shares keep working,"
            " but their URLs cannot be shown again."
        )
    if not drop:
        print("Old keys are kept. To remove them, stop the service and run svc vault rotate --drop-old.")
    print("Earlier backups contain the keys that they need, unless they were made with --without-key.")
    return 0


async def _reseal(store: Store, keys: list[bytes]) -> tuple[int, int]:
    """Use the first key to re-encrypt all secrets that are encrypted with an older key.

    Each secret is re-encrypted in its own transaction.

    Return the number of re-encrypted secrets, and the number of secrets that no key decrypts. If the call is
    interrupted, it can be repeated.
    """
    from svc.security.vault import Vault
    from svc.store.sealed_secrets import reseal, sealed_secrets

    newest, every = Vault(keys[:1]), Vault(keys)
    resealed = 0
    while True:
        found = (await store.read(sealed_secrets())).items()
        older = {owner_id: box for owner_id, box in found if not newest.opens(box, owner_id)}
        pending = {owner_id: box for owner_id, box in older.items() if every.opens(box, owner_id)}
        for owner_id, box in pending.items():
            again = newest.seal(every.open(box, owner_id), owner_id)
            resealed += await store.run(reseal(owner_id, box, again))
        if not pending:  # includes tokens that a running service has encrypted in the meantime
            return resealed, len(older)

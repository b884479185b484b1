"""The worker `svc-edge` as it was built: the module, its database's schema, its snippet, the words that it shares with
us; read from the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.model import DIMENSIONS, DROP_REASONS
from svc.worker.explain import Explainer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import Dimension

SCRIPT_NAME = "svc-edge"
DATABASE_NAME = "svc-edge"
_FOLDER = Path(__file__).parents[1] / "bundle"


@dataclass(frozen=True)
class WorkerBundle:
    """What an install uploads. `sha256` is of `module`.

    `migrations`: the statements that bring its database from schema 0, nothing, to 1, from 1 to 2 and so on, up to
    `schema`; the last of each sets the number. Each statement adds, so that an older worker goes on to work, and may be
    run again, except `alter table`. `caps`: how many keys a breakdown may have, for a target and day.
    `live_after_s`: after so long every isolate serves what was synced. `explainer` reads clicks as this worker does.
    """

    module: bytes
    sha256: str
    migrations: tuple[tuple[str, ...], ...]
    snippet: str
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    cron: str
    live_after_s: int
    caps: Mapping[Dimension, int]
    explainer: Explainer

    @property
    def schema(self) -> int:
        """The number of the database's schema that the module works with."""
        return len(self.migrations)

    @property
    def schema_statements(self) -> tuple[str, ...]:
        """All that makes the tables of a new database."""
        return tuple(statement for migration in self.migrations for statement in migration)


def load_bundle(folder: Path = _FOLDER) -> WorkerBundle:
    """The built worker. Raises ConfigError when it was not built, or built of another version than the service."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        vocabulary = json.loads((folder / "vocabulary.json").read_text())
        if set(vocabulary["dimensions"]) != set(DIMENSIONS) or set(vocabulary["drop_reasons"]) != set(DROP_REASONS):
            raise ValueError("its breakdowns or reasons are not those that the service knows")
        migrations = tuple(tuple(statements) for statements in manifest["migrations"])
        if not migrations or manifest["schema"] != len(migrations):
            raise ValueError(f"its schema is {manifest['schema']}, and it has {len(migrations)} migrations")
        return WorkerBundle(
            module=(folder / manifest["main_module"]).read_bytes(),
            sha256=manifest["sha256"],
            migrations=migrations,
            snippet=(folder / "snippet.js").read_text().strip(),
            main_module=manifest["main_module"],
            compatibility_date=manifest["compatibility_date"],
            compatibility_flags=tuple(manifest["compatibility_flags"]),
            cron=manifest["cron"],
            live_after_s=vocabulary["live_after_s"],
            caps=vocabulary["dimensions"],
            explainer=Explainer(json.loads((folder / "patterns.json").read_text())),
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"The worker's bundle cannot be read ({error}); run: make build") from None

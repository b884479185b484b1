"""Reads the built Worker `svc-edge` from the package: its module, database schema, snippet, and shared vocabulary."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from svc.config import ConfigError
from svc.model import DIMENSIONS, DROP_REASONS
from svc.worker.breakdowns import Cap
from svc.worker.explain import Explainer
from svc.worker.imported_months import MonthLimits

if TYPE_CHECKING:
    from collections.abc import Mapping

    from svc.model import Dimension

SCRIPT_NAME = "svc-edge"
DATABASE_NAME = "svc-edge"
_FOLDER = Path(__file__).parents[1] / "bundle"


@dataclass(frozen=True)
class WorkerBundle:
    """A Worker that can be uploaded. `sha256` is the hash of `module`.

    `migrations`: for each schema version, starting with 1, the statements that migrate from the previous version. The
    last statement sets the version number. Migrations only add tables and columns, so that older Workers keep working.
    All statements except `alter table` can be repeated. `caps`: the limits of each breakdown, per target and day.
    `link_format`: the newest format of a link's configuration row that the Worker can read. `site_month`: the limits of
    the row of a site's month. `live_after_s`: the number of seconds after a sync until all isolates use the new
    configuration. `not_found_policy`: the content security policy of the page that the link host shows for unknown
    codes. `explainer`: evaluates clicks in the same way as this Worker.
    """

    module: bytes
    sha256: str
    migrations: tuple[tuple[str, ...], ...]
    snippet: str
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    cron: str
    link_format: int
    live_after_s: int
    not_found_policy: str
    caps: Mapping[Dimension, Cap]
    site_month: MonthLimits
    explainer: Explainer

    @property
    def schema(self) -> int:
        """The version of the database schema that the module uses."""
        return len(self.migrations)

    @property
    def schema_statements(self) -> tuple[str, ...]:
        """The statements that create the tables of a new database."""
        return tuple(statement for migration in self.migrations for statement in migration)


def load_bundle(folder: Path = _FOLDER) -> WorkerBundle:
    """Read the built Worker.

    Raises ConfigError if the Worker is missing or was built for another version of the service.
    """
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        vocabulary = json.loads((folder / "vocabulary.json").read_text())
        if set(vocabulary["dimensions"]) != set(DIMENSIONS) or set(vocabulary["drop_reasons"]) != set(DROP_REASONS):
            raise ValueError("its breakdowns or drop reasons differ from the service's")
        migrations = tuple(tuple(statements) for statements in manifest["migrations"])
        if not migrations or manifest["schema"] != len(migrations):
            raise ValueError(f"its schema version is {manifest['schema']}, but it has {len(migrations)} migrations")
        return WorkerBundle(
            module=(folder / manifest["main_module"]).read_bytes(),
            sha256=manifest["sha256"],
            migrations=migrations,
            snippet=(folder / "snippet.js").read_text().strip(),
            main_module=manifest["main_module"],
            compatibility_date=manifest["compatibility_date"],
            compatibility_flags=tuple(manifest["compatibility_flags"]),
            cron=manifest["cron"],
            link_format=vocabulary["link_format"],
            live_after_s=vocabulary["live_after_s"],
            not_found_policy=vocabulary["not_found_policy"],
            caps=_caps(vocabulary["dimensions"]),
            site_month=MonthLimits(vocabulary["months"]["site"]["bytes"], _caps(vocabulary["months"]["site"]["lists"])),
            explainer=Explainer(json.loads((folder / "patterns.json").read_text())),
        )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"The Worker's bundle cannot be used ({error}); run: make build") from None


def _caps(limits: Mapping[Dimension, Mapping[str, int]]) -> dict[Dimension, Cap]:
    return {name: Cap(**cap) for name, cap in limits.items()}

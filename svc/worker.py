"""The worker `svc-edge` as it was built: the module, its database's schema, its snippet; read from the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from svc.config import ConfigError

SCRIPT_NAME = "svc-edge"
DATABASE_NAME = "svc-edge"
_FOLDER = Path(__file__).parent / "bundle"


@dataclass(frozen=True)
class WorkerBundle:
    """What an install uploads. `sha256` is of `module`; `schema_statements` are run in order and may be repeated."""

    module: bytes
    sha256: str
    schema: int
    schema_statements: tuple[str, ...]
    snippet: str
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    cron: str


def load_bundle(folder: Path = _FOLDER) -> WorkerBundle:
    """The built worker. Raises ConfigError when it was not built."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        sql = (folder / "schema.sql").read_text()
        return WorkerBundle(
            module=(folder / manifest["main_module"]).read_bytes(),
            sha256=manifest["sha256"],
            schema=manifest["schema"],
            schema_statements=statements(sql),
            snippet=(folder / "snippet.js").read_text().strip(),
            main_module=manifest["main_module"],
            compatibility_date=manifest["compatibility_date"],
            compatibility_flags=tuple(manifest["compatibility_flags"]),
            cron=manifest["cron"],
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"The worker's bundle cannot be read ({error}); run: make build") from None


def statements(sql: str) -> tuple[str, ...]:
    """The statements of a schema file: each ends with `;` at the end of a line; comments fall away."""
    lines = [line.split("--", 1)[0].rstrip() for line in sql.splitlines()]
    return tuple(part.strip() for part in "\n".join(lines).split(";\n") if part.strip())

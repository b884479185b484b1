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
    """What an install uploads. `sha256` is of `module`; `schema_statements` are run in order and may be repeated.

    `caps`: how many keys a breakdown may have, for a target and day. `explainer` reads clicks as this
    worker does.
    """

    module: bytes
    sha256: str
    schema: int
    schema_statements: tuple[str, ...]
    snippet: str
    main_module: str
    compatibility_date: str
    compatibility_flags: tuple[str, ...]
    cron: str
    caps: Mapping[Dimension, int]
    explainer: Explainer


def load_bundle(folder: Path = _FOLDER) -> WorkerBundle:
    """The built worker. Raises ConfigError when it was not built, or built of another version than the service."""
    try:
        manifest = json.loads((folder / "manifest.json").read_text())
        vocabulary = json.loads((folder / "vocabulary.json").read_text())
        if set(vocabulary["dimensions"]) != set(DIMENSIONS) or set(vocabulary["drop_reasons"]) != set(DROP_REASONS):
            raise ValueError("its breakdowns or reasons are not those that the service knows")
        return WorkerBundle(
            module=(folder / manifest["main_module"]).read_bytes(),
            sha256=manifest["sha256"],
            schema=manifest["schema"],
            schema_statements=tuple(manifest["schema_statements"]),
            snippet=(folder / "snippet.js").read_text().strip(),
            main_module=manifest["main_module"],
            compatibility_date=manifest["compatibility_date"],
            compatibility_flags=tuple(manifest["compatibility_flags"]),
            cron=manifest["cron"],
            caps=vocabulary["dimensions"],
            explainer=Explainer(json.loads((folder / "patterns.json").read_text())),
        )
    except (OSError, ValueError, KeyError) as error:
        raise ConfigError(f"The worker's bundle cannot be read ({error}); run: make build") from None

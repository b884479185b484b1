"""Refuse to build a package if make has not built the Worker and the web application and copied the documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_BUILT = {
    "worker": "svc/bundle/manifest.json",
    "web application": "svc/web/dist/manifest.json",
    "documentation": "svc/documents/CHANGELOG.md",
}


class BuiltFilesHook(BuildHookInterface):  # type: ignore[type-arg]
    """Check for built files. Hatchling finds this class by its base and runs it for wheels and source archives."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Raise FileNotFoundError if one of them is missing.

        An editable install is allowed without them, because `make build` creates it first.
        """
        for name, path in _BUILT.items():
            manifest = Path(self.root, path)
            if version != "editable" and not manifest.exists():
                raise FileNotFoundError(f"The {name} was not built: {manifest} is missing. Run `make build` first.")

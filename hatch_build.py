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
    """Checks for built files. Hatchling finds this class by its base class, and runs it for each wheel or sdist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Raise FileNotFoundError if a built file is missing.

        An editable install is allowed without these files, because `make build` installs svc before it builds them.
        """
        for name, path in _BUILT.items():
            manifest = Path(self.root, path)
            if version != "editable" and not manifest.exists():
                raise FileNotFoundError(f"The {name} was not built: {manifest} is missing. Run `make build` first.")

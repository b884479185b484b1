"""Refuse to build a package without the worker: what it installs could not serve."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WorkerBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Hatchling finds this class by its base, and runs it for wheels and source archives."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002 (hatchling's signature)
        """Raise FileNotFoundError when the worker was not built.

        An editable install may come first, as `make build` does it: it reads the checkout, in which the worker appears.
        """
        manifest = Path(self.root, "svc/bundle/manifest.json")
        if version != "editable" and not manifest.exists():
            raise FileNotFoundError(f"The worker was not built: {manifest} is missing. Run `make build` first.")

"""Why a store cannot be taken now, though it may be later: what a standby waits for."""

from __future__ import annotations

from svc.config import ConfigError


class Served(ConfigError):
    """Another service has the store, or a command holds it alone."""


class Away(ConfigError):
    """The store is not reached, or cannot be written at the moment."""

"""Errors for a store that cannot be opened at the moment. A standby retries until the store can be opened."""

from __future__ import annotations

from svc.config import ConfigError


class Served(ConfigError):
    """Raised if another service, or a command that needs exclusive access, is using the store."""


class Away(ConfigError):
    """Raised if the store cannot be reached or written to at the moment."""

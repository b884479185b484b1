"""Temporary reasons why a store cannot be opened. A standby waits until they no longer apply."""

from __future__ import annotations

from svc.config import ConfigError


class Served(ConfigError):
    """Raised if another service, or a command with exclusive access, is using the store."""


class Away(ConfigError):
    """Raised if the store cannot be reached or written at the moment."""

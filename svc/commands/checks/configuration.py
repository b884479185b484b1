"""Checks of the configuration file and of the files that it names."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

from svc.commands.checks.finding import Finding
from svc.commands.config_file import has_exposed_password
from svc.commands.output import plural
from svc.config import ConfigError
from svc.http.serving.web import load_web
from svc.identity.operator import load_identity
from svc.security.vault import open_vault
from svc.worker.bundle import load_bundle

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from svc.config import Config


def check_file(file: Path | None) -> Finding:
    """If there is a configuration file with a password, check that other users cannot read or change the file."""
    if file is not None and has_exposed_password(file):
        text = f"{file} contains a password, but other users can read or change it; run: chmod o= {file}"
        return Finding("configuration", "FAIL", text)
    return Finding("configuration", "ok", "all settings are valid")


def check_files(config: Config, sealed: dict[str, bytes]) -> list[Finding]:
    """Check the built files and the operator's identity, and check that the key file decrypts the `sealed` secrets."""
    return [
        _check_part("worker bundle", lambda: f"schema {load_bundle().schema}, sha256 {load_bundle().sha256[:12]}…"),
        _check_part("web application", lambda: f"built, {load_web().bytes // 1024} KB in memory"),
        _check_part("identity", lambda: _identity(config)),
        _check_part("key file", lambda: _key_file(config, sealed)),
    ]


def _check_part(part: str, describe: Callable[[], str]) -> Finding:
    try:
        return Finding(part, "ok", describe())
    except (ConfigError, OSError) as error:
        return Finding(part, "FAIL", str(error))


def _identity(config: Config) -> str:
    identity = load_identity(config.web)
    logo = "no logo" if identity.logo is None else f"logo {identity.logo.suffix.upper()}"
    return f"name {identity.name}, {logo}, contact {identity.contact or 'not set'}"


def _key_file(config: Config, sealed: dict[str, bytes]) -> str:
    path = config.vault.key_file
    open_vault(config.vault, sealed, make=False)
    if not path.exists():
        return f"{path} will be created at the first start; remember to back it up"
    return (
        f"{path} is readable (mode {stat.S_IMODE(path.stat().st_mode):04o}) and decrypts {plural(len(sealed), 'token')}"
    )

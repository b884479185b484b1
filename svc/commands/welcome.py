"""The four lines that `svc serve` prints on a terminal, or logs until a user exists."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from svc.config import Config


def welcome(config: Config, url: str, base_url: str, *, web: bool, option: str = "") -> list[str]:
    """Return the lines: the service's URL and files, missing settings, the command that adds a user, and the web URLs.

    `url`: the address on which the service listens. `base_url`: the public URL. `web`: True if the web application was
    built. `option`: the command-line option that makes other commands use the same configuration.
    """
    key_file = config.vault.key_file.absolute()
    missing = []
    problem = config.push_url_problem(config.push_url(base_url))
    if problem is not None:
        missing.append("a public https URL to which Workers push ([http] base_url)")
    if config.mail.transport == "file":
        missing.append(f"a mail server ([mail]; emails are written to {config.mail.folder.absolute()})")
    needs = "no further settings" if not missing else f"{' and '.join(missing)}; `svc init` asks for these settings"
    page = f"{base_url}/; help: {base_url}/help" if web else "not included in this build"
    return [
        f"svc {version('svc')} is running at {url}; back up its store {_store(config)} and its key file {key_file}.",
        f"Production use needs {needs}. To check the setup, run: svc check{option}",
        f"To add the first user, run: svc user add YOU@EXAMPLE.COM --confirmed{option}",
        f"Web application: {page}; API reference: {base_url}/reference",
    ]


def _store(config: Config) -> str:
    """Return the path of the database file, or the PostgreSQL URL without user name and password."""
    url = config.store.url.get_secret_value()
    if url.startswith("sqlite:///"):
        return str(Path(url.removeprefix("sqlite:///")).absolute())
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

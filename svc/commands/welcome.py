"""The four lines that `svc serve` prints on a terminal, or logs until a user exists."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.config import Config


def welcome(config: Config, url: str, base_url: str, *, web: bool, option: str = "") -> list[str]:
    """Return lines with the service's URL and files, missing settings, the command that adds a user, and the web URLs.

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
    needs = "no further settings" if not missing else f"{' and '.join(missing)}; see `svc docs first-start`"
    kept = f"its store {config.store.location} and its key file {key_file}"
    page = f"{base_url}/; help: {base_url}/help" if web else "not included in this build"
    return [
        f"svc {version('svc')} is running at {url}; back up {kept}.",
        f"Production use needs {needs}. To check the setup, run: svc check{option}",
        f"To add the first user, run: svc user add YOU@EXAMPLE.COM --confirmed{option}",
        f"Web application: {page}; API reference: {base_url}/reference",
    ]

"""What a person is told who starts the service for the first time, in four lines."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from svc.config import Config


def welcome(config: Config, url: str, base_url: str, *, web: bool, option: str = "") -> list[str]:
    """Where it is, what real use needs, how the first user is made, where the web application is.

    `url`: where it answers, `base_url`: what users type; `web`: whether there is a web application; `option`: what
    commands need to find the same configuration.
    """
    key_file = config.vault.key_file.absolute()
    lacks = []
    trouble = config.push_trouble(config.push_url(base_url))
    if trouble is not None:
        lacks.append("an https address with a public name, to which workers push ([http] base_url)")
    if config.mail.transport == "file":
        lacks.append(f"a mail server ([mail]; until then e-mails are files in {config.mail.folder.absolute()})")
    needs = "nothing that can be seen from here" if not lacks else f"{' and '.join(lacks)}; `svc init` asks for them"
    page = f"{base_url}/" if web else "was not built into this program"
    return [
        f"svc {version('svc')} answers at {url}; its store is {_store(config)}, its key file {key_file}: back up both.",
        f"Real use needs {needs}; `svc check{option}` looks at everything.",
        f"The first user: svc user add YOU@EXAMPLE.COM --confirmed{option}",
        f"The web application: {page}; the reference of the API: {base_url}/reference",
    ]


def _store(config: Config) -> str:
    """The store's file; or its server and database, without a password."""
    url = config.store.url.get_secret_value()
    if url.startswith("sqlite:///"):
        return str(Path(url.removeprefix("sqlite:///")).absolute())
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"

"""The operator's identity, which every page and every email shows: name, logo, contact and legal links."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from svc.config import ConfigError
from svc.identity.logo import LogoError, read_logo
from svc.identity.marks import DEFAULT_NAME

if TYPE_CHECKING:
    from svc.config import WebConfig
    from svc.identity.logo import Logo


@dataclass(frozen=True)
class Identity:
    """The operator's identity.

    Strings that are not configured are empty. `contact`: an email address or an https URL.
    """

    name: str = DEFAULT_NAME
    logo: Logo | None = None
    contact: str = ""
    imprint_url: str = ""
    privacy_url: str = ""
    terms_url: str = ""

    @property
    def contact_url(self) -> str:
        """The contact as a URL, or "" if no contact is configured."""
        if not self.contact or "://" in self.contact:
            return self.contact
        return f"mailto:{quote(self.contact, safe='@!$*+-')}"


DEFAULT_IDENTITY = Identity()


def load_identity(config: WebConfig) -> Identity:
    """Return the identity in the settings, with the logo's content. Raises ConfigError if the logo cannot be used."""
    return Identity(
        name=config.name,
        logo=_logo(config.logo) if config.logo else None,
        contact=config.contact,
        imprint_url=config.imprint_url,
        privacy_url=config.privacy_url,
        terms_url=config.terms_url,
    )


def _logo(path: str) -> Logo:
    try:
        return read_logo(Path(path))
    except LogoError as error:
        raise ConfigError(f"[web] logo: {path} {error}.") from None

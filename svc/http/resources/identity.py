"""/auth/settings and /.well-known/security.txt: the service's public settings, and the operator's security contact."""

from __future__ import annotations

from typing import TYPE_CHECKING

from quart import Response

from svc.api import auth as api
from svc.api import probes
from svc.api.endpoint import JSON_TYPE
from svc.clock import DAY_MS, iso
from svc.errors import NotFound

if TYPE_CHECKING:
    from svc.http.serving.deps import Deps
    from svc.http.serving.endpoints import Endpoints
    from svc.http.serving.requests import RequestInfo

_BRIEFLY = {"Cache-Control": "public, max-age=300"}
# The number of days after which security.txt expires. RFC 9116, 2.5.5, recommends less than a year.
_VALID_DAYS = 180


class PublicIdentity:
    """The handlers of /auth/settings and /.well-known/security.txt."""

    def __init__(self, deps: Deps, endpoints: Endpoints) -> None:
        self._identity = deps.identity
        self._base_url = deps.base_url
        self._sign_up_mode = deps.context.config.auth.sign_up
        self._clock = deps.context.clock
        endpoints.open(api.SETTINGS, self.settings)
        endpoints.open(probes.SECURITY_TXT, self.security_txt)

    async def settings(self, _: RequestInfo) -> Response:
        """Return the public settings."""
        identity = self._identity
        public = api.PublicSettings(
            sign_up=self._sign_up_mode,
            name=identity.name,
            logo_url=None if identity.logo is None else self._base_url + identity.logo.path,
            contact=identity.contact or None,
            imprint_url=identity.imprint_url or None,
            privacy_url=identity.privacy_url or None,
            terms_url=identity.terms_url or None,
        )
        return Response(public.to_bytes(), headers=_BRIEFLY, content_type=JSON_TYPE)

    async def security_txt(self, _: RequestInfo) -> Response:
        """Return security.txt, which expires 180 days after today.

        Raises NotFound if the operator has set no contact.
        """
        if not self._identity.contact:
            raise NotFound
        today = self._clock() // DAY_MS
        lines = [f"Contact: {self._identity.contact_url}", f"Expires: {iso((today + _VALID_DAYS) * DAY_MS)}"]
        if self._base_url.startswith("https://"):  # RFC 9116, 2.5.2
            lines.append(f"Canonical: {self._base_url}{probes.SECURITY_TXT.path}")
        lines.append("Preferred-Languages: en, de")
        body = "".join(f"{line}\n" for line in lines)
        return Response(body, headers=_BRIEFLY, content_type=f"{probes.TEXT_TYPE}; charset=utf-8")

"""The cookies of the paths under /auth: their names, scope and attributes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc.api.auth import REFRESH_COOKIE, cookie_name

if TYPE_CHECKING:
    from quart import Response

    from svc.http.serving.requests import RequestInfo

DEVICE_COOKIE = "svc_device"

# A header of the response that ends a browser's session. Without this header, the back/forward cache would still show
# the user's pages.
SIGNED_OUT = {"Clear-Site-Data": '"cache"'}


class Cookies:
    """Reads and sets the cookies. They are HttpOnly, and browsers send them only with same-site requests.

    Over https, each name begins with `__Host-`, which requires the path `/`. The prefix prevents other hosts, even
    sibling subdomains, from setting a cookie that signs a user in as another user.

    Over http, browsers reject the prefix, so it is omitted. The cookies' path is then /auth, because browsers also send
    cookies to servers on other ports of the same host.
    """

    def __init__(self, base_url: str) -> None:
        self._https = base_url.startswith("https:")
        self._names = {name: cookie_name(name, base_url) for name in (REFRESH_COOKIE, DEVICE_COOKIE)}
        # Search only for the service's cookies. The framework's parser would parse all cookies, and other
        # applications on the host may set long ones.
        self._patterns = {
            name: re.compile(rf"(?:^|; ?){sent_name}=([A-Za-z0-9_-]{{1,200}})(?:;|$)")
            for name, sent_name in self._names.items()
        }

    def get(self, request: RequestInfo, name: str) -> str:
        """Return the cookie's value, or "" if the request does not have this cookie."""
        match = self._patterns[name].search(request.cookies)
        return match[1] if match else ""

    def set(self, response: Response, name: str, value: str, max_age_s: int) -> None:
        """Set the cookie for `max_age_s` seconds. 0 deletes it."""
        response.set_cookie(
            self._names[name],
            value,
            max_age=max_age_s,
            path="/" if self._https else "/auth",
            httponly=True,
            samesite="Strict",
            secure=self._https,
        )

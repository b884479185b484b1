"""The cookies of /auth: their names, and where browsers send them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from svc.api.auth import REFRESH_COOKIE, cookie_name

if TYPE_CHECKING:
    from quart import Response

    from svc.http.serving.requests import RequestInfo

DEVICE_COOKIE = "svc_device"

# With the answer that ends the session of a browser: pages that it keeps, to show them again at once when somebody goes
# back, are the former user's.
SIGNED_OUT = {"Clear-Site-Data": '"cache"'}


class Cookies:
    """Reads and sets them: for scripts of no page, for requests of no other site.

    Over https each name begins with `__Host-`: no other host, not even a neighbour below the same domain, can set such
    a cookie here, and so sign somebody in as somebody else. It has to be sent with every path then. Over http, where
    browsers take no such names, they are sent to /auth alone: other programs may listen on other ports of the host.
    """

    def __init__(self, base_url: str) -> None:
        self._https = base_url.startswith("https:")
        self._names = {name: cookie_name(name, base_url) for name in (REFRESH_COOKIE, DEVICE_COOKIE)}
        # Not the framework's parser: it takes all of a header apart, and other applications of the host send long ones.
        self._patterns = {
            name: re.compile(rf"(?:^|; ?){shown}=([A-Za-z0-9_-]{{1,200}})(?:;|$)")
            for name, shown in self._names.items()
        }

    def get(self, request: RequestInfo, name: str) -> str:
        """The cookie's value; "" without one."""
        found = self._patterns[name].search(request.cookies)
        return found[1] if found else ""

    def set(self, response: Response, name: str, value: str, max_age_s: int) -> None:
        """Have the browser keep it, 0: forget it."""
        response.set_cookie(
            self._names[name],
            value,
            max_age=max_age_s,
            path="/" if self._https else "/auth",
            httponly=True,
            samesite="Strict",
            secure=self._https,
        )

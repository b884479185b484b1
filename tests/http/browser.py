"""A minimal browser with a cookie jar, for tests of /auth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.http.conftest import Response, World

FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:130.0) Gecko/20100101 Firefox/130.0"


@dataclass
class Browser:
    """A browser that sends its stored cookies and stores the cookies that responses set."""

    world: World
    cookies: dict[str, str] = field(default_factory=dict)
    agent: str = FIREFOX

    async def call(
        self, path: str, json: Any = None, *, cookies: dict[str, str] | None = None, **more: Any
    ) -> Response:
        """Send a POST request without storing the response's cookies. `cookies`: the cookies to send instead of the
        stored ones.
        """
        sent = "; ".join(f"{name}={value}" for name, value in (self.cookies if cookies is None else cookies).items())
        headers = {"User-Agent": self.agent, **({"Cookie": sent} if sent else {}), **more}
        return await self.world.call("POST", path, json, headers=headers)

    def keep(self, response: Response) -> None:
        """Store the cookies that a response sets."""
        for text in response.headers.getlist("Set-Cookie"):
            name, _, value = text.partition(";")[0].partition("=")
            if "Max-Age=0" in text:
                self.cookies.pop(name, None)
            else:
                self.cookies[name] = value

    async def post(self, path: str, json: Any = None, **more: Any) -> Response:
        """Send a POST request, and store the response's cookies."""
        response = await self.call(path, json, **more)
        self.keep(response)
        return response


def bearer_of(response: Response) -> dict[str, str]:
    """Return the Authorization header for the session in this response."""
    return {"Authorization": f"Bearer {response.body['access_token']}"}

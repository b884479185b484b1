"""Steps for tests of /auth: sign up, confirm, sign in, and read emails."""

from __future__ import annotations

import email
import re
from email import policy
from typing import TYPE_CHECKING, Any

from svc.config import LimitsConfig
from tests.http.conftest import config_of

if TYPE_CHECKING:
    from pathlib import Path

    from svc.config import Config
    from tests.http.conftest import Response, World

EMAIL, PASSWORD = "ann@example.com", "correct horse"
TOKEN = re.compile(r"https://svc\.example/(confirm|reset)\?token=(\S+)")


def read_email(text: str) -> tuple[str, str, str]:
    """Return the recipient, the subject and the plain text of an email."""
    message = email.message_from_string(text, policy=policy.default)
    assert message["From"] == "svc <svc@localhost>"
    plain: Any = message.get_body(("plain",))
    return message["To"], message["Subject"], plain.get_content()


async def token_of(world: World, purpose: str) -> str:
    """Return the token in the newest link for `purpose`. Emails for different purposes may be sent in any order."""
    found = [match for text in await world.inbox() for match in TOKEN.findall(read_email(text)[2])]
    return [str(token) for kind, token in found if kind == purpose][-1]


async def sign_up(world: World, address: str = EMAIL, password: str = PASSWORD) -> Response:
    """Sign up with an address."""
    return await world.call("POST", "/auth/sign-up", {"email": address, "password": password})


async def sign_in(world: World, password: str = PASSWORD, address: str = EMAIL, **more: Any) -> Response:
    """Sign in. `more`: arguments of `World.call`."""
    return await world.call("POST", "/auth/sign-in", {"email": address, "password": password}, **more)


async def confirm(world: World, token: str) -> Response:
    """Confirm an address with the token from an email."""
    return await world.call("POST", "/auth/confirm", {"token": token})


async def a_confirmed_user(world: World) -> None:
    """Sign up and confirm `EMAIL`."""
    await sign_up(world)
    assert (await confirm(world, await token_of(world, "confirm"))).status == 200


def client(address: str) -> dict[str, Any]:
    """Return the arguments of `World.call` for a request from this IP address."""
    return {"scope_base": {"client": (address, 1)}}


def device_of(response: Response) -> dict[str, str]:
    """Return the headers that identify the browser that received this response."""
    [cookie] = [text for text in response.headers.getlist("Set-Cookie") if text.startswith("__Host-svc_device=")]
    for part in ("HttpOnly", "SameSite=Strict", "Secure", "Path=/;"):
        assert part in cookie
    return {"Cookie": f"theme=dark; {cookie.partition(';')[0]}; other=1"}


def cookie_of(response: Response) -> dict[str, str]:
    """Return the headers that send the first cookie of this response."""
    return {"Cookie": response.headers["Set-Cookie"].partition(";")[0]}


def limited(tmp_path: Path, **limits: int) -> Config:
    """Return a configuration with these limits. By default, the limit on sign-ins is too high for tests to reach."""
    return config_of(tmp_path).model_copy(update={"limits": LimitsConfig(**{"sign_ins_per_minute": 10_000, **limits})})

"""The dependencies that `main` passes to the HTTP package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from svc.identity.operator import DEFAULT_IDENTITY

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.supervisor import Supervisor
    from svc.http.serving.web import Web
    from svc.identity.operator import Identity


@dataclass(frozen=True)
class Deps:
    """The dependencies that all handlers share.

    `base_url`: the URL at which users reach the service, without a trailing slash. `web`: the web application, or None
    if it is not served. `identity`: the operator's name, logo, contact and legal links.
    """

    context: Context
    supervisor: Supervisor
    base_url: str
    web: Web | None = None
    identity: Identity = DEFAULT_IDENTITY

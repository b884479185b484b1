"""The parts of the service that the composition root hands to the HTTP package."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from svc.actors.context import Context
    from svc.actors.supervisor import Supervisor
    from svc.http.serving.web import Web


@dataclass(frozen=True)
class Deps:
    """The parts that all handlers share.

    `base_url`: the address at which users reach the service, without a slash at its end. `web`: the web application;
    None: the service has none.
    """

    context: Context
    supervisor: Supervisor
    base_url: str
    web: Web | None = None

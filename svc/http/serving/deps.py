"""What the HTTP room is given by the composition root."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from svc.metrics import Metrics

if TYPE_CHECKING:
    from svc.actors.supervisor import Supervisor
    from svc.clock import Clock
    from svc.config import Config
    from svc.http.serving.web import Web
    from svc.store.tx import Store
    from svc.worker.bundle import WorkerBundle


@dataclass(frozen=True)
class Deps:
    """Shared by all handlers. `base_url`: how users reach the service, without a slash at its end; `web`: the web
    application, None: this service has none."""

    store: Store
    supervisor: Supervisor
    config: Config
    clock: Clock
    base_url: str
    bundle: WorkerBundle
    web: Web | None = None
    metrics: Metrics = field(default_factory=Metrics)

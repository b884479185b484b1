"""Import this module to load what services and commands load when they start, or when they first need it.

The process that forks the services imports it, so that each fork starts with these modules and values. This saves most
of the CPU time of a start, and the tests start hundreds of services.
"""

from __future__ import annotations

import encodings.idna
import importlib.readers

import httpcore
import yaml

from svc.cli import parser_of_all
from svc.commands import check, welcome
from svc.edge.tls import trusted
from svc.http.serving.routes import routes
from svc.process import core_dumps, standby
from svc.security.password_policy import common_passwords
from svc.worker.bundle import load_bundle
from tests.models import loaded_models

# Modules that other modules import only when they first need them.
MODULES = (check, core_dumps, encodings.idna, httpcore, importlib.readers, standby, welcome, yaml)

# Each of these functions caches its result or parts of it. `parser_of_all` imports all commands.
common_passwords()
load_bundle()
parser_of_all()
routes()
trusted()
for model in loaded_models():
    model.model_rebuild()

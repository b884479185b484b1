"""Import this module to load what each service loads when it starts: libraries, certificates, lists and patterns.

The process that forks the services imports it, so that each fork starts with these values. This halves the CPU time of
a start, and the tests start hundreds of services.
"""

from __future__ import annotations

import encodings.idna
import importlib.readers

import httpcore

from svc.edge.tls import trusted
from svc.security.password_policy import common_passwords
from svc.worker.bundle import load_bundle

# Imported by other modules only when they are first needed.
LIBRARIES = (encodings.idna, importlib.readers, httpcore)

# Each of these functions caches its result, or compiles regular expressions that the `re` module caches.
common_passwords()
load_bundle()
trusted()

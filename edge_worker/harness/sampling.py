"""Decides which cases a test run executes, and provides the seed for random choices.

`make test` samples: each run draws a different subset of the cases, such as the moments at which the service is killed.
`make test-all` sets SVC_TEST_ALL and executes every case. `docs/develop/testing.md` lists the sampled cases.
"""

from __future__ import annotations

import os
import secrets

EVERYTHING = "SVC_TEST_ALL" in os.environ
# Stored in the environment, so that all processes of a run use the same seed.
SEED = int(os.environ.setdefault("SVC_TEST_SEED", str(secrets.randbelow(2**32))))

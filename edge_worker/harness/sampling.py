"""The extent of a test run, and the seed of its random choices.

`make test` samples: of all moments to kill the service at, of all calls to fail, and so on, it draws some, others in
each run. `make test-all` sets SVC_TEST_ALL and executes every one. `docs/testing.md` lists what is sampled.
"""

from __future__ import annotations

import os
import secrets

EVERYTHING = "SVC_TEST_ALL" in os.environ
# In the environment, so that all processes of a run have the same one.
SEED = int(os.environ.setdefault("SVC_TEST_SEED", str(secrets.randbelow(2**32))))

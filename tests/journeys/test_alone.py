"""One service a store."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import open_service
from tests.journeys.conftest import settings_of


@pytest.mark.both_engines
async def test_a_second_service_on_the_same_store_says_so_and_ends(service, emulator, store_config, tmp_path):
    settings = settings_of(emulator, store_config)
    with pytest.raises(AssertionError, match="Another svc serve uses"):
        async with open_service(tmp_path / "second", settings):
            raise RuntimeError("there are two")
    assert (await service.call("GET", "/v1/accounts"))["accounts"] == []
    # A service that was killed keeps nobody out.
    await service.kill()
    async with open_service(tmp_path / "third", settings) as third:
        third.headers = service.headers
        assert (await third.call("GET", "/v1/accounts"))["accounts"] == []

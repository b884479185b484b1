"""Only one service can use a store at a time."""

from __future__ import annotations

import pytest

from edge_worker.harness.service import open_service
from tests.journeys.conftest import settings_of


@pytest.mark.both_engines
async def test_second_service_on_the_same_store_fails_with_an_error(service, emulator, store_config, tmp_path):
    settings = settings_of(emulator, store_config)
    with pytest.raises(AssertionError, match="Another svc serve uses"):
        async with open_service(tmp_path / "second", settings):
            raise RuntimeError("two services are running")
    assert (await service.call("GET", "/v1/accounts"))["accounts"] == []
    # If a service is killed, the next service can use the store.
    await service.kill()
    async with open_service(tmp_path / "third", settings) as third:
        third.headers = service.headers
        assert (await third.call("GET", "/v1/accounts"))["accounts"] == []

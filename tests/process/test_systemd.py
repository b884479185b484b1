"""Tests of the systemd interface. A process simulates systemd."""

from __future__ import annotations

import socket

import pytest
import trio

from edge_worker.local_http import local_client
from svc.config import ConfigError
from svc.process.systemd import Systemd, from_environment
from tests.held_socket import open_holder


async def test_inherited_sockets_are_served_and_outlive_service(tmp_path):
    async with open_holder(tmp_path / "svc", {"SVC_HTTP_BIND": "127.0.0.1:1"}, sockets=2, watchdog_s=0.2) as holder:
        await holder.start()
        await holder.hears("WATCHDOG=1")
        async with local_client() as client:
            for each in holder.sockets:
                url = "http://{}:{}/healthz".format(*each.getsockname())
                assert (await client.get(url)).json() == {"ok": True, "client": "127.0.0.1"}
        holder.told.clear()
        await holder.hears("WATCHDOG=1")  # the notification is repeated
        async with local_client(timeout=60) as client, trio.open_nursery() as nursery:
            await holder.stop()
            assert "STOPPING=1" in holder.told
            responses: list[dict[str, object]] = []

            async def ask() -> None:
                responses.append((await client.get(f"{holder.url}/healthz")).json())

            nursery.start_soon(ask)  # the request is sent while no service is running
            await holder.start()
        await holder.stop()
        assert responses == [{"ok": True, "client": "127.0.0.1"}]
        assert holder.announced == [holder.url, holder.url]


async def test_notify_socket_can_be_a_path_and_watchdog_is_optional(tmp_path):
    async with open_holder(tmp_path / "svc", {}, abstract=False) as holder:
        await holder.start()
        await holder.stop()
    assert holder.told[:2] == ["READY=1", "STATUS=serving"]
    assert "WATCHDOG=1" not in holder.told


async def test_lost_store_is_reported_and_watchdog_still_fed(tmp_path):
    """The service keeps notifying systemd's watchdog, which would otherwise restart the service. A restart would not
    make the store available.
    """
    problem: str | None = None
    with trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifications:
        await notifications.bind(str(tmp_path / "notify"))
        systemd = Systemd(notify_address=str(tmp_path / "notify"), watchdog_s=0.02)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(systemd.keep_notified, lambda: problem)
            assert await notifications.recv(1_000) == b"WATCHDOG=1"
            problem = "the disk is full"
            with trio.fail_after(30):
                while await notifications.recv(1_000) != b"WATCHDOG=1\nSTATUS=the disk is full":
                    pass
            assert await notifications.recv(1_000) == b"WATCHDOG=1"
            problem = None
            with trio.fail_after(30):
                while await notifications.recv(1_000) != b"WATCHDOG=1\nSTATUS=serving":
                    pass
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("place", ["/no/such/place", "@no-listener", "vsock:2:1", "x" * 200, "@"])
async def test_missing_notify_socket_does_not_block(place, caplog):
    await Systemd(notify_address=place).notify("READY=1")
    assert "systemd notification failed" in caplog.text


def test_variables_of_other_process_are_ignored_and_removed():
    environ = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "WATCHDOG_PID": "1", "WATCHDOG_USEC": "9"}
    assert from_environment({**environ, "NOTIFY_SOCKET": "@a"}, pid=2) == Systemd(notify_address="@a")
    environ |= {"WATCHDOG_PID": "2", "WATCHDOG_USEC": "30000000", "HOME": "/"}
    assert from_environment(environ, pid=2) == Systemd(watchdog_s=30)
    assert environ == {"HOME": "/"}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("file", "non-socket"),
        ("udp", "not a listening TCP socket: the socket unit needs ListenStream="),
        ("unix", "not a listening TCP socket"),
        ("quiet", "not a listening TCP socket"),
        ("accepted", "not a listening TCP socket"),
        ("nothing", "Bad file descriptor"),
    ],
)
def test_descriptor_that_is_not_listening_socket_is_rejected(tmp_path, kind, why):
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname())
    made = {
        "file": lambda: (tmp_path / "x").open("w"),
        "udp": lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        "unix": lambda: socket.socket(socket.AF_UNIX),
        "quiet": socket.socket,
        "accepted": lambda: server.accept()[0],
        "nothing": lambda: None,
    }[kind]()
    with server, client:
        descriptor = 1_000_000 if made is None else made.fileno()
        with pytest.raises(ConfigError, match=why):
            from_environment({"LISTEN_PID": "7", "LISTEN_FDS": "1"}, pid=7, first=descriptor)
        if made is not None:
            made.close()


@pytest.mark.parametrize("number", ["-1", "three", "1e3"])
def test_invalid_number_is_rejected(number):
    with pytest.raises(ConfigError, match="LISTEN_FDS"):
        from_environment({"LISTEN_PID": "7", "LISTEN_FDS": number}, pid=7)

"""What systemd hands over is taken, and it is told what it wants to know: by a process that does as it does."""

from __future__ import annotations

import socket

import httpx
import pytest
import trio

from svc.config import ConfigError
from svc.process.systemd import Systemd, from_environment
from tests.held_socket import open_holder


async def test_sockets_that_are_handed_over_are_served_and_outlive_the_service(tmp_path):
    async with open_holder(tmp_path / "svc", {"SVC_HTTP_BIND": "127.0.0.1:1"}, sockets=2, watchdog_s=0.2) as holder:
        await holder.start()
        await holder.hears("WATCHDOG=1")
        async with httpx.AsyncClient(trust_env=False) as client:
            for each in holder.sockets:
                url = "http://{}:{}/healthz".format(*each.getsockname())
                assert (await client.get(url)).json() == {"ok": True}
        holder.told.clear()
        await holder.hears("WATCHDOG=1")  # again and again
        async with httpx.AsyncClient(trust_env=False, timeout=60) as client, trio.open_nursery() as nursery:
            await holder.stop()
            assert "STOPPING=1" in holder.told
            answers: list[dict[str, bool]] = []

            async def ask() -> None:
                answers.append((await client.get(f"{holder.url}/healthz")).json())

            nursery.start_soon(ask)  # of nobody, as yet
            await holder.start()
        await holder.stop()
        assert answers == [{"ok": True}]
        assert holder.announced == [holder.url, holder.url]


async def test_a_name_in_a_folder_is_told_as_well_and_without_a_watchdog_nobody_is_fed(tmp_path):
    async with open_holder(tmp_path / "svc", {}, abstract=False) as holder:
        await holder.start()
        await holder.stop()
    assert holder.told[:2] == ["READY=1", "STATUS=serving"]
    assert "WATCHDOG=1" not in holder.told


async def test_a_lost_store_is_told_and_the_watchdog_is_fed_all_the_same(tmp_path):
    """A restart would not bring it back."""
    trouble: str | None = None
    with trio.socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as told_at:
        await told_at.bind(str(tmp_path / "told"))
        systemd = Systemd(tell_at=str(tmp_path / "told"), watchdog_s=0.02)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(systemd.keep_told, lambda: trouble)
            assert await told_at.recv(1_000) == b"WATCHDOG=1"
            trouble = "the disk is full"
            with trio.fail_after(30):
                while await told_at.recv(1_000) != b"WATCHDOG=1\nSTATUS=the disk is full":
                    pass
            assert await told_at.recv(1_000) == b"WATCHDOG=1"
            trouble = None
            with trio.fail_after(30):
                while await told_at.recv(1_000) != b"WATCHDOG=1\nSTATUS=serving":
                    pass
            nursery.cancel_scope.cancel()


@pytest.mark.parametrize("place", ["/no/such/place", "@nobody-listens-here", "vsock:2:1", "x" * 200, "@"])
async def test_nobody_who_listens_holds_nothing_up(place, caplog):
    await Systemd(tell_at=place).tell("READY=1")
    assert "systemd could not be told" in caplog.text


def test_what_is_for_another_process_is_not_taken_and_nothing_is_left_for_children():
    environ = {"LISTEN_PID": "1", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "x", "WATCHDOG_PID": "1", "WATCHDOG_USEC": "9"}
    assert from_environment({**environ, "NOTIFY_SOCKET": "@a"}, pid=2) == Systemd(tell_at="@a")
    environ |= {"WATCHDOG_PID": "2", "WATCHDOG_USEC": "30000000", "HOME": "/"}
    assert from_environment(environ, pid=2) == Systemd(watchdog_s=30)
    assert environ == {"HOME": "/"}


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("file", "non-socket"),
        ("udp", "no TCP socket that listens: the socket unit needs ListenStream="),
        ("unix", "no TCP socket that listens"),
        ("quiet", "no TCP socket that listens"),
        ("accepted", "no TCP socket that listens"),
        ("nothing", "Bad file descriptor"),
    ],
)
def test_a_descriptor_that_is_no_listening_socket_is_refused_with_the_remedy(tmp_path, kind, why):
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
def test_a_number_that_is_none_is_refused(number):
    with pytest.raises(ConfigError, match="LISTEN_FDS"):
        from_environment({"LISTEN_PID": "7", "LISTEN_FDS": number}, pid=7)

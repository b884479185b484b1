"""Programs that start as forks of a preloaded process behave like programs that start separately."""

from __future__ import annotations

import os
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
import trio

from edge_worker.programs import forking, open_program

_REPORT = (
    "import os, sys; print(sys.argv[1:], os.environ, os.getcwd()); print('reported', file=sys.stderr); sys.exit(3)"
)
_FAIL = "raise ValueError('so it is')"
_STAY = "import signal, sys; print('up', flush=True); signal.pause()"


@pytest.fixture(params=["fork", "new process"], autouse=True)
def start_method(request, monkeypatch):
    with ExitStack() as stack:
        if request.param == "fork":
            stack.enter_context(forking())
        else:
            monkeypatch.setattr("edge_worker.programs._READY", [])
        yield


async def ended(program) -> tuple[str, int]:
    output = b"".join([chunk async for chunk in program.stdout])
    await program.stdout.aclose()
    return output.decode(), await program.wait()


async def test_program_gets_arguments_environment_and_folder_and_returns_output_and_status(tmp_path):
    with (tmp_path / "log").open("ab") as log:
        given = {"PATH": os.environ["PATH"], "LC_CTYPE": "C.UTF-8", "A": "b"}
        program = await open_program(["-c", _REPORT, "x", "y"], environ=given, stderr=log.fileno(), folder=tmp_path)
        assert await ended(program) == (f"['x', 'y'] environ({given}) {tmp_path}\n", 3)
        assert (program.poll(), program.returncode) == (3, 3)
        program.kill()  # this has no effect, because the process has ended
        assert (tmp_path / "log").read_text() == "reported\n"
        assert await ended(await open_program(["-c", _FAIL], stderr=log.fileno())) == ("", 1)
        assert "ValueError: so it is" in (tmp_path / "log").read_text()
        output, status = await ended(await open_program(["-m", "svc", "--version"]))
        assert (output[:4], status) == ("svc ", 0)


@pytest.fixture
def nowhere():
    with Path(os.devnull).open("wb") as opened:
        yield opened.fileno()


async def test_programs_receive_signals_independently(nowhere):
    numbers = (
        signal.SIGTERM,
        signal.SIGKILL,
        signal.SIGUSR1,
    )  # SIGINT is not used, because shells make background processes ignore it
    programs = [await open_program(["-c", _STAY], stderr=nowhere) for _ in numbers]
    try:
        for program in programs:
            assert program.stdout is not None
            reported = b""
            while not reported.endswith(b"\n"):  # the newline may arrive later than the rest of the line
                reported += await program.stdout.receive_some()
            assert reported == b"up\n"
            with trio.move_on_after(0):  # a wait can be cancelled and repeated
                await program.wait()
            assert program.poll() is None
        assert len({program.pid for program in programs}) == len(numbers)
        for program, number in zip(programs, numbers, strict=True):
            program.send_signal(number)
            assert await ended(program) == ("", -number)
    finally:
        for program in programs:
            program.kill()

"""Tests that keep startup fast: a command must not import modules, build objects or collect garbage unnecessarily."""

from __future__ import annotations

import argparse
import inspect
import re
import signal
from typing import TYPE_CHECKING

import pytest
import trio

import svc.main  # imports all models
from edge_worker.harness.service import environment
from edge_worker.programs import open_program
from svc.cli import parser_of_all
from svc.http.serving.routes import routes
from tests.command_runs import svc_process
from tests.models import loaded_models

if TYPE_CHECKING:
    from pathlib import Path

# Run `svc serve`, and print a line for each garbage collection, in addition to the line that reports the service as
# ready.
_SERVE = """
import gc
from svc.cli import main

gc.callbacks.append(lambda phase, _: print("collection", phase, flush=True))
main(["serve"])
"""


@pytest.mark.parametrize(
    ("arguments", "own"),
    [
        (("--version",), set()),
        (("docs",), {"arguments", "docs", "output"}),
        (("licences", "-h"), {"arguments", "licences", "output"}),
    ],
)
def test_command_imports_only_its_own_module(tmp_path: Path, arguments: tuple[str, ...], own: set[str]) -> None:
    ran = svc_process(tmp_path, *arguments, PYTHONVERBOSE="1")
    assert ran.returncode == 0, ran.stderr
    loaded = set(re.findall("^import '([^']+)'", ran.stderr, re.MULTILINE))
    assert {name.removeprefix("svc.commands.") for name in loaded if name.startswith("svc.commands.")} == own
    assert not {"pydantic", "trio", "svc.config", "svc.model"} & loaded


def test_unknown_command_and_help_list_all_commands(tmp_path: Path) -> None:
    actions = parser_of_all()._actions  # argparse has no public attribute for the list of arguments
    [commands] = [list(each.choices or ()) for each in actions if isinstance(each, argparse._SubParsersAction)]
    unknown = svc_process(tmp_path, "serv")
    assert (unknown.returncode, unknown.stdout) == (2, "")
    listed = ", ".join(map(repr, commands))
    assert f"invalid choice: 'serv' (choose from {listed})" in unknown.stderr
    shown = svc_process(tmp_path, "--help").stdout
    assert [name for name in commands if f"\n    {name} " not in shown.replace("\n", " \n")] == []
    assert commands[:4] == ["init", "serve", "check", "health"]


async def test_start_collects_no_garbage_until_service_is_ready(tmp_path: Path) -> None:
    with trio.fail_after(60):
        process = await open_program(["-c", _SERVE], environ=environment(tmp_path, {}))
        assert process.stdout is not None
        printed = b""
        async with process.stdout as output:
            while b'"ready"' not in printed:
                printed += await output.receive_some()
            process.send_signal(signal.SIGTERM)
            printed += b"".join([chunk async for chunk in output])
        assert await process.wait() == 0
    before, _, after = printed.decode().partition('"ready"')
    assert "collection" not in before
    assert "collection start" in after, "garbage is never collected"


def test_models_are_built_when_first_used() -> None:
    assert inspect.ismodule(svc.main)
    models = [*loaded_models("svc.api"), *loaded_models("svc.edge")]
    assert len(models) > 200
    assert [model.__name__ for model in models if not model.model_config.get("defer_build")] == []


def test_all_models_can_be_built() -> None:
    """The service builds models lazily. Without this test, an invalid model would fail only when a request needs it."""
    for model in loaded_models():
        model.model_rebuild()
        assert model.__pydantic_complete__, model


def test_routes_build_no_urls() -> None:
    """The service never builds URLs from routes. Compiling the functions for this would take longer than all other work
    for the routes.
    """
    adapter = routes().bind("svc.example.com")
    endpoint, values = adapter.match("/v1/accounts/acc_1", method="GET")
    with pytest.raises(NotImplementedError):
        adapter.build(endpoint, values, method="GET")

"""Parse the blocks of docs/operate/*.md, and run them in a folder that represents a machine."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import trio

from tests.command_runs import api_with_a_clock

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs/operate"
_FENCED = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ENDS = ("|", "||", "&&", ";", "&", "(", ")", "\n")
# The time limit for a block.
_BLOCK_S = 120.0


@dataclass(frozen=True)
class Block:
    """A fenced block of a document. `line`: the number of its first line."""

    document: str
    line: int
    language: str
    text: str

    @property
    def name(self) -> str:
        """The first line, which is the key of the block in `STEPS`."""
        return self.text.partition("\n")[0]

    def __str__(self) -> str:
        return f"docs/operate/{self.document}:{self.line}"


Step = Callable[["Place", Block], Awaitable[None]]


@dataclass(frozen=True)
class NotHere:
    """A step for a block that the test of this document does not run. `test`: the id of the test that runs the block,
    if there is one.
    """

    why: str
    test: str | None = None


def elsewhere(test: str) -> NotHere:
    """Return a step for a block that another test runs: `tests/folder/test_file.py::test_name`."""
    return NotHere(f"run by {test}", test)


def by_hand(why: str) -> NotHere:
    """Return a step for a block that no test can run."""
    return NotHere(why)


async def done(place: Place, block: Block) -> None:
    """Run the block, which must succeed."""
    await place.run(block)


def documents() -> list[str]:
    """Return the file names of all documents for operators."""
    return sorted(path.name for path in FOLDER.glob("*.md"))


def blocks(document: str, language: str = "sh") -> list[Block]:
    """Return the blocks of a document that are fenced with this language."""
    text = (FOLDER / document).read_text()
    return [
        Block(document, text.count("\n", 0, found.start()) + 2, found[1], found[2])
        for found in _FENCED.finditer(text)
        if found[1] == language
    ]


def commands(block: Block) -> list[list[str]]:
    """Return each simple command in a block as a list of words, without redirections, here-documents, sudo and similar
    prefixes.
    """
    text = re.sub(r"<<-?\s*['\"]?(\w+)['\"]?(.*?\n).*?^\s*\1$", r"\2", block.text, flags=re.MULTILINE | re.DOTALL)
    found: list[list[str]] = []
    for line in text.replace("\\\n", " ").splitlines():
        reader = shlex.shlex(line, posix=True, punctuation_chars=True)
        reader.whitespace_split = True
        words: list[str] = []
        for word in [*reader, "\n"]:
            if word in _ENDS:
                found.append(_bare(words))
                words = []
            else:
                words.append(word)
    return [words for words in found if words]


def _bare(words: list[str]) -> list[str]:
    kept: list[str] = []
    skips = False
    for at, word in enumerate(words):
        if skips or (word.isdigit() and words[at + 1 : at + 2] and words[at + 1][0] in "<>"):
            skips = False
        elif word[:1] in "<>":
            skips = True
        else:
            kept.append(word)
    while kept and (re.match(r"\w+=", kept[0]) or kept[0] in ("sudo", "env", "exec", "time")):
        del kept[: 3 if kept[:2] == ["sudo", "-u"] else 1]
    return kept


@dataclass
class Place:
    """A folder that represents the machine on which a document's commands run."""

    folder: Path
    settings: dict[str, str] = field(default_factory=dict)  # environment variables
    replaced: dict[str, str] = field(default_factory=dict)  # text to replace in blocks before they run
    url: str = ""  # URL of the running service
    _running: trio.Process | None = None

    def __post_init__(self) -> None:
        for path in ("/etc/svc", "/var/lib/svc"):
            (self.folder / path[1:]).mkdir(parents=True, exist_ok=True)
            self.replaced[path] = str(self.folder / path[1:])
        binaries = self.folder / "bin"
        binaries.mkdir(exist_ok=True)
        # `sudo` runs commands as the current user.
        (binaries / "sudo").write_text('#!/bin/sh\n[ "$1" = -u ] && shift 2\nexec "$@"\n')
        (binaries / "sudo").chmod(0o755)

    @property
    def environ(self) -> dict[str, str]:
        """The environment of all blocks. `PATH` has the `svc` under test, and the only settings are this place's."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SVC_")}
        path = f"{self.folder / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}"
        own = {"PATH": path, "HOME": str(self.folder), "SVC_EDGE_API_BASE_URL": api_with_a_clock()}
        return {**kept, **own, **self.settings}

    def text(self, block: Block) -> str:
        """Return the text of a block after replacing paths."""
        text = block.text
        for old, new in self.replaced.items():
            text = text.replace(old, new)
        return text

    async def run(self, block: Block, typed: str = "", *, fails: bool = False) -> str:
        """Run a block in the folder, and return its output on stdout and stderr.

        `typed`: the standard input. Raises AssertionError if the block fails although `fails` is not set, or
        succeeds although `fails` is set.
        """
        with trio.fail_after(_BLOCK_S):
            ended = await trio.run_process(
                ["sh", "-eu", "-c", self.text(block)],
                cwd=self.folder,
                env=self.environ,
                stdin=typed.encode(),
                capture_stdout=True,
                stderr=subprocess.STDOUT,
                check=False,
                start_new_session=True,  # without a terminal, commands read passwords from standard input
            )
        said = ended.stdout.decode()
        assert (ended.returncode != 0) == fails, f"{block} ended with {ended.returncode}:\n{said}"
        return said

    async def start(self, block: Block) -> None:
        """Start a block that runs a service, and set `url`. The service runs until `stop` is called."""
        assert self._running is None, "one service at a time"
        with (self.folder / "log").open("ab") as log:
            self._running = await trio.lowlevel.open_process(
                ["sh", "-eu", "-c", f"exec {self.text(block)}"],
                cwd=self.folder,
                env=self.environ,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        line = b""
        assert self._running.stdout is not None
        with trio.fail_after(_BLOCK_S):
            while not line.endswith(b"\n"):
                more = await self._running.stdout.receive_some(1_024)
                assert more, f"{block} did not start:\n{(self.folder / 'log').read_text()}"
                line += more
        self.url = json.loads(line)["url"]

    async def stop(self) -> None:
        """Stop the running service, if any, as an operator would. Raises AssertionError if it ended with an error."""
        if self._running is None:
            return
        running, self._running = self._running, None
        running.send_signal(signal.SIGTERM)
        assert running.stdout is not None
        await running.stdout.aclose()
        assert await running.wait() == 0, (self.folder / "log").read_text()


@asynccontextmanager
async def open_place(folder: Path) -> AsyncIterator[Place]:
    """Create a place in an empty folder, and stop its service at the end."""
    place = Place(folder)
    try:
        yield place
    finally:
        with trio.CancelScope(shield=True):
            await place.stop()

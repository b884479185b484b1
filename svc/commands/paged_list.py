"""Prints a long list from the store in pages, so that the command needs little memory and blocks no writer."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, TypeVar

import trio

from svc.commands.output import ignoring_closed_pipe

if TYPE_CHECKING:
    from collections.abc import Callable

    from svc.config import Config
    from svc.store.tx import Tx

T = TypeVar("T")

_PAGE = 1_000


def print_pages(
    config: Config, header: str | None, page: Callable[[T | None, int], Tx[list[T]]], line: Callable[[T], str]
) -> None:
    """Print one line for each entry, after the header.

    `page`: called with an entry and a number. Returns a transaction that reads at most this number of entries after the
    entry, or from the start of the list if the entry is None. `header`: None for no header. If the reader closes the
    pipe, the remaining lines are not printed.
    """
    from svc.store import open_store

    async def print_all() -> None:
        async with open_store(config.store, as_is=True) as store:
            if header is not None:
                print(header)
            last: T | None = None
            while True:
                entries = await store.read(page(last, _PAGE))
                for entry in entries:
                    print(line(entry))
                if len(entries) < _PAGE:
                    return
                last = entries[-1]

    with ignoring_closed_pipe():
        trio.run(print_all)
        sys.stdout.flush()

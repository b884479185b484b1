"""A replacement for `parametrize` that runs all cases in one test, so that fixtures are set up only once."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    Test = Callable[..., Awaitable[None]]


def cases(names: str | tuple[str, ...], values: Iterable[Any]) -> Callable[[Test], Test]:
    """Run an async test once per value, with the same fixtures. The arguments are those of `parametrize`.

    A case must not depend on data that earlier cases stored. The message of a failure names the case.
    """
    arguments = (names,) if isinstance(names, str) else names
    rows = [(value,) if isinstance(names, str) else value for value in values]

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        async def run(**fixtures: Any) -> None:
            for row in rows:
                case = dict(zip(arguments, row, strict=True))
                try:
                    await test(**fixtures, **case)
                except BaseException as error:
                    error.add_note(f"case: {case}")
                    raise

        signature = inspect.signature(test)
        fixtures = [each for name, each in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=fixtures)  # type: ignore[attr-defined]
        return run

    return decorate

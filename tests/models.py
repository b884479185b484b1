"""The models of the service that Pydantic validates and serializes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel

if TYPE_CHECKING:
    from collections.abc import Iterator


def loaded_models(package: str = "svc") -> list[type[BaseModel]]:
    """Return all models of the package whose modules have been imported."""
    models = dict.fromkeys(_subclasses(BaseModel))
    return [model for model in models if model.__module__.startswith(f"{package}.")]


def _subclasses(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in model.__subclasses__():
        yield each
        yield from _subclasses(each)

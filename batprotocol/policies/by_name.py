"""Policies as members of a file: `by_name.py:easy-sjf`, for programs that take a scheduler as FILE:CLASS only."""

from __future__ import annotations

from batprotocol.policies.names import PolicyNameError, named
from batprotocol.policies.scheduler import Policy

__all__: list[str] = []


def __getattr__(name: str) -> type[Policy]:
    try:
        return named(name)
    except PolicyNameError as error:
        raise AttributeError(str(error)) from None

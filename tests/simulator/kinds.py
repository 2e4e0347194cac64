"""Simulating with each of the two kinds of actions: those in C, where they were compiled, and those in Python."""

from __future__ import annotations

import pytest

from batprotocol.simulator.actions import KINDS
from batprotocol.simulator.actions.demand import usual

__all__ = ["use_actions"]


def use_actions(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let simulations that begin, or are restored, in this test have actions of this kind."""
    for name, chosen in zip(("Actions", "Demand"), KINDS[kind], strict=True):
        monkeypatch.setattr(usual, name, chosen)

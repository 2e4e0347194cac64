"""Which kind of actions is usual here: what begins, or is restored, is of this kind. `__init__` says which."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["usual"]


class _Usual:
    """The classes. Nothing is of both kinds: all demands of actions are of theirs."""

    Actions: Any = None
    Demand: Any = None


usual: Final = _Usual()

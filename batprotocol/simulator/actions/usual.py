"""The default classes of actions, for new and restored simulations. `__init__` sets them."""

from __future__ import annotations

from typing import Any, Final

__all__ = ["usual"]


class _Usual:
    """The classes. Actions and their demands are always of the same kind."""

    Actions: Any = None
    Demand: Any = None


usual: Final = _Usual()

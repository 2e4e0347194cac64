"""The keys of studies, as tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from batprotocol.studies.keys import KEYS
from handbook.markdown import code, prose, table

__all__ = ["keys"]

_KINDS: Final[Mapping[str, str]] = {
    "input": "What is run",
    "change": "What is made of the workload",
    "option": "How it is simulated",
    "metrics": "What is measured",
}


def keys(page: str, argument: str) -> str:
    """A table of the keys for each kind of them."""
    assert {key.kind for key in KEYS.values()} == _KINDS.keys()
    parts = []
    for kind, title in _KINDS.items():
        rows = [(code(name), prose(key.expected), prose(key.meaning)) for name, key in KEYS.items() if key.kind == kind]
        parts += [f"### {title}", table(("key", "value", "what it is"), rows)]
    return "\n\n".join(parts) + "\n"

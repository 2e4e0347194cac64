"""A study as the text of a TOML file, which `batproto study run` runs with the same numbers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

__all__ = ["study_toml"]

_WIDTH: Final = 120


def study_toml(keys: Mapping[str, Any], comments: Iterable[str] = ()) -> str:
    """The text of a study.

    Args:
        keys: the keys of the study: texts, numbers, truth values, tables of these, and lists.
        comments: sentences before the first key.

    >>> print(study_toml({"scheduler": ["fcfs", {"scheduler": "easy", "only": {"seed": 1}}], "energy": True}), end="")
    scheduler = ["fcfs", { scheduler = "easy", only = { seed = 1 } }]
    energy = true
    """
    lines = [f"# {' '.join(each.split())}" for each in comments]
    for key, value in keys.items():
        line = f"{key} = {_value(value)}"
        if len(line) > _WIDTH and isinstance(value, list | tuple):
            lines += [f"{key} = [", *(f"    {_value(each)}," for each in value), "]"]
        else:
            lines.append(line)
    return "".join(f"{line}\n" for line in lines)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(int(value)) if value == int(value) else repr(value)
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{key} = {_value(each)}' for key, each in value.items())} }}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return json.dumps(str(value), ensure_ascii=False).replace("\x7f", "\\u007f")

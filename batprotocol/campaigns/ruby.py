"""Values in the notation of Ruby, for CiGri's messages and tables."""

from __future__ import annotations

from typing import Any

import msgspec

__all__ = ["as_ruby"]


def as_ruby(value: Any) -> str:
    """A value of JSON in the notation of Ruby 3.3.

    >>> as_ruby({"besteffort": False, "ids": [1, None], "name": 'a "b"'})
    '{"besteffort"=>false, "ids"=>[1, nil], "name"=>"a \\\\"b\\\\""}'
    """
    if value is None:
        return "nil"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{as_ruby(key)}=>{as_ruby(each)}' for key, each in value.items())}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(as_ruby, value))}]"
    return msgspec.json.encode(value).decode()

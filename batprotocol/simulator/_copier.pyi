from collections.abc import Callable
from typing import Any

def bind(
    how_to_copy: Callable[[type, bool], tuple[int, tuple[Any, ...], bool]],
    deepcopy: Callable[[Any, dict[int, Any]], Any],
    deque: type,
    /,
) -> None: ...
def copied(value: Any, memo: dict[int, Any] | None = None, /) -> Any: ...

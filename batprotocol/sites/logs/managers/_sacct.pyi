from collections.abc import Callable

from batprotocol.sites.logs.jobs import Attempt, LoggedJob

MOST_WIDTH: int

class Rows:
    seen: tuple[float | None, str]
    def __new__(
        cls,
        job: LoggedJob,
        attempt: Attempt,
        width: int,
        delimiter: str,
        places: tuple[int, ...],
        readers: tuple[Callable[..., object], ...],
        repeated: dict[str, int],
        /,
    ) -> Rows: ...
    def open(self, lines: bytes, number: int, /) -> None: ...
    def read(self, /) -> tuple[list[LoggedJob], list[int], str | None]: ...
    def line(self, /) -> tuple[int, str] | None: ...

def again(lines: bytes, delimiter: str, column: int, pages: dict[int, bytearray], /) -> list[str]: ...

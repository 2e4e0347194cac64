class Play:
    now: float
    free: int
    next: int
    waiting: int
    running: int
    begun: int
    ends: bytes
    end_jobs: bytes
    started: bytes
    finished: bytes
    starts: bytes
    def __new__(
        cls,
        fixed: bytes,
        count: int,
        hosts: int,
        resolution: float,
        per: float,
        is_whole: bool,
        has_ranks: bool,
        has_tried: bool,
        /,
    ) -> Play: ...
    def advance(self, /) -> int | None: ...
    def take(self, place: int, /) -> int: ...
    def start(self, job: int, /) -> None: ...
    def wait_for(self, job: int, rules: tuple[bool, bool, bool, bool] | None, /) -> None: ...
    def see(
        self,
        row: object,
        told: object,
        known: object,
        parts: object,
        layout: tuple[int, int, int, int, int, int],
        columns: tuple[int, ...],
        /,
    ) -> None: ...
    def queue(self, limit: int, /) -> bytes: ...
    def set_queue(self, jobs: bytes, /) -> None: ...
    def copy(self, /) -> Play: ...
    def state(self, /) -> tuple[float, int, int, int, int, int, int, bytes]: ...
    def set_state(self, state: tuple[float, int, int, int, int, int, int, bytes], /) -> None: ...

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
        columns: tuple[object, object, object, object, object | None, object | None],
        first: int,
        count: int,
        hosts: int,
        resolution: float,
        per: float,
        is_whole: bool,
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
    def sums(self, /) -> tuple[float, float, float, float]: ...
    def queue(self, limit: int, /) -> bytes: ...
    def set_queue(self, jobs: bytes, /) -> None: ...
    def copy(self, /) -> Play: ...
    def state(self, /) -> tuple[float, int, int, int, int, int, int, bytes]: ...
    def set_state(self, state: tuple[float, int, int, int, int, int, int, bytes], /) -> None: ...

class Vector:
    def __new__(
        cls,
        kind: int,
        only_fitting: bool,
        can_wait: bool,
        rules: tuple[bool, bool, bool, bool] | None,
        reward: tuple[int, bool],
        layout: tuple[tuple[int, int, int, int, int, int], tuple[int, ...]],
        tables: tuple[object, object, object],
        rows: int,
        policies: tuple[object, ...],
        orders: tuple[object, ...],
        columns: tuple[int, ...],
        /,
    ) -> Vector: ...
    def step(
        self,
        worlds: tuple[Play, ...],
        actions: object | None,
        rows: object | None,
        masks: object | None,
        told: object | None,
        worth: object | None,
        /,
    ) -> int: ...

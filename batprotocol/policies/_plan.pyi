from batprotocol.policies.slurm.queue import JobStage, RankedEntry, SlurmEntry, SlurmJob
from batprotocol.policies.slurm.reservations import PlannedNodes

class Releases(tuple[list[float], list[int]]):
    def __new__(cls, width: int, jobs: list[tuple[float, tuple[float, int], int]], free: int, /) -> Releases: ...

class Plan(PlannedNodes):
    def __init__(self, begin: int, end: int, nodes: int, resolution: int, width: int, /) -> None: ...
    def begin(self, begin: int, end: int, nodes: int, /) -> None: ...
    def unplan(self, entries: list[RankedEntry], /) -> None: ...
    def run(
        self,
        owner: object,
        entries: list[RankedEntry],
        place: int,
        releases: Releases,
        nodes: int,
        completing: int,
        settings: tuple[int, int, bool, bool, bool, bool, float, float, float],
        state: tuple[int, int, bool, float],
        footing: int,
        /,
    ) -> tuple[int, int, tuple[int, int, bool, float]]: ...

def bind(entry: type[SlurmEntry], job: type[SlurmJob], pending: JobStage, /) -> None: ...

from batprotocol.model.free_hosts.hosts import Pool as PythonPool
from batprotocol.model.free_hosts.hosts import PythonHosts
from batprotocol.model.hosts import FrozenHosts, Intervals

class Pool(PythonPool): ...

def bind(frozen: type[FrozenHosts], seen: dict[str | Intervals, FrozenHosts], hosts: type[PythonHosts], /) -> None: ...

"""Decision components that are no Python objects of this process: at a ZeroMQ endpoint, or in a shared library.

Both look to the simulator like any other `DecisionComponent`: `hello` and `answer`, with messages as values.
"""

from batprotocol.simulator.peers.endpoint import RemoteComponent, connect
from batprotocol.simulator.peers.library import LibraryComponent, load_library

__all__ = ["LibraryComponent", "RemoteComponent", "connect", "load_library"]

"""Decision components that are not Python objects of this process: at a ZeroMQ endpoint, or in a shared library.

For the simulator, both are a `DecisionComponent` with `hello` and `answer`, and with messages as values.
"""

from batprotocol.simulator.peers.endpoint import RemoteComponent, connect
from batprotocol.simulator.peers.library import LibraryComponent, load_library

__all__ = ["LibraryComponent", "RemoteComponent", "connect", "load_library"]

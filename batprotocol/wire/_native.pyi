from collections.abc import Callable
from types import ModuleType

from batprotocol.model import Message

def bind(
    model: ModuleType,
    read_carefully: Callable[[bytes | bytearray | memoryview], Message],
    write_carefully: Callable[[Message], bytes],
    /,
) -> None: ...
def decode(data: bytes | bytearray | memoryview, /) -> Message: ...
def encode(message: Message, /) -> bytes: ...

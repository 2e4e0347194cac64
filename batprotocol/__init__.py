"""batprotocol: the protocol between Batsim and the schedulers that it drives, in Python.

>>> from batprotocol import MessageBuilder
>>> builder = MessageBuilder(now=10.0)
>>> builder.add_execute_job("w0!1", "0-3")
>>> message = builder.finish_message(10.0)
>>> decode(message.to_binary()) == message
True

The values (`batprotocol.model`) have the names of the schema. `Message` reads and writes both formats, `decode` detects
the format of bytes, and `MessageBuilder` makes replies. `batprotocol.wire` has the other parts of the wire, and
`batprotocol.fb` the classes that flatc makes of the schema.

The packages and modules, from the lowest layer up: `model`, `hosts` (sets of free hosts), `wire`, `builder`,
`conversation` (the rules of the protocol, on `rules`, which all protocols share), `files`, `tables` and `writing`,
`recording`, `sockets`, `signals`, `methods` and `importing` (the common parts of all modules that run schedulers),
`schemas` (other ages of the schema, on `reflection`, which reads them), `engines` (where runs execute), `edc` (running
a decision component), `simulator` (an embedded Batsim), `legacy` (the older protocols, and a bridge), `capture`
(recorded conversations), `fast` (FaST's schedulers, nodes and agents over MQTT), `campaigns` (CiGri's metascheduler),
`policies` (built-in policies), `studies` (many simulations, compared), `gym` (environments to learn in), `testing`, and
`cli`, the command. All of them use `errors`; `extras` names the packages to install, `distributions` is for measuring,
`steps` for compiled code, and `deprecation` for old names. docs/explanation/architecture.md shows the layers.
"""

import os as _os

# In a source tree, the compiled schema (batprotocol.fb, batprotocol._schema) is beside the package, in generated/.
# In an installed package, it is inside.
if not _os.path.isdir(_os.path.join(__path__[0], "_schema")):
    __path__.append(_os.path.join(_os.path.dirname(__path__[0]), "generated"))

from typing import TYPE_CHECKING

from batprotocol.builder import MessageBuilder as MessageBuilder
from batprotocol.errors import *
from batprotocol.hosts import FrozenHosts as FrozenHosts
from batprotocol.hosts import Hosts as Hosts
from batprotocol.model import *
from batprotocol.wire import decode as decode

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol import errors, model

    __all__ = ["FrozenHosts", "Hosts", "MessageBuilder", "decode", *errors.__all__, *model.__all__]

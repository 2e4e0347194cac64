"""batprotocol: the protocol between Batsim and the schedulers that it drives, in Python.

>>> from batprotocol import MessageBuilder
>>> builder = MessageBuilder(now=10.0)
>>> builder.add_execute_job("w0!1", "0-3")
>>> message = builder.finish_message(10.0)
>>> decode(message.to_binary()) == message
True

The values (`batprotocol.model`) carry the names of the schema; `Message` reads and writes both formats; `decode` finds
out which one it is given; `MessageBuilder` makes replies; `batprotocol.wire` has the rest of the wire. The classes that
flatc makes of the schema are `batprotocol.fb`.

The rooms, from the ground up: `model`, `hosts` (what is free, to take from and give back to), `requests` (the
vocabulary of jobs that ask for more than hosts), `deprecation` (old names of what has a new one), `wire`, `builder`,
`conversation` (what may be said when, on the `rules` that all protocols share), `files`, `tables` and `writing`,
`recording`, `sockets`, `signals`, `methods` and `importing` (what all that runs schedulers has in common), `schemas`
(those of other ages, on `reflection`, which reads them), `engines` (where things run), then `edc` (running a decision
component), `simulator` (an embedded Batsim), `legacy` (the older protocols, and a bridge), `capture` (what was
recorded) and `fast` (FaST's schedulers, nodes and agents over MQTT), `campaigns` (CiGri's metascheduler), `policies`
(ready schedulers), `studies` (many simulations, compared), `gym` (environments to learn in), `testing` and `cli`, the
command; `errors` is for all of them, `distributions` for what is measured, and `steps` for what is compiled.
docs/explanation/architecture.md shows them drawn.
"""

import os as _os

# In a source tree the compiled schema (batprotocol.fb, batprotocol._schema) stands beside the package, in generated/;
# an installed package holds it inside.
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

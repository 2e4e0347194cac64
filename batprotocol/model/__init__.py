"""The values of the protocol: events, jobs, profiles, placements, kill progress, probes, triggers, hosts, message.

Values are immutable and comparable. They have the names of `schema/batprotocol.fbs`. They do not depend on the wire
formats or on the rules of the conversation. A constructor does not check its arguments: the wire formats check them
when they encode a value, and `MessageBuilder` checks them in each call.

The modules depend on one another in this order: `value` has the base class, the types that constructors take, and
vectors of doubles; `hosts` has the host sets, and `enums` the enums. `profiles`, `probes` (with their triggers) and
`jobs` (with placements and progress) use those. `simulation` has the rest of what Batsim sends
at the begin of a simulation. `events` uses all of these, and `message` uses `events`.
"""

from typing import TYPE_CHECKING

from batprotocol.model.enums import *
from batprotocol.model.events import *
from batprotocol.model.hosts import *
from batprotocol.model.jobs import *
from batprotocol.model.message import *
from batprotocol.model.probes import *
from batprotocol.model.profiles import *
from batprotocol.model.simulation import *
from batprotocol.model.value import Doubles as Doubles
from batprotocol.model.value import Value as Value

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.model import enums, events, hosts, jobs, message, probes, profiles, simulation

    __all__ = [
        "Doubles",
        "Value",
        *enums.__all__,
        *events.__all__,
        *hosts.__all__,
        *jobs.__all__,
        *message.__all__,
        *probes.__all__,
        *profiles.__all__,
        *simulation.__all__,
    ]

"""The values of the protocol: events, jobs, profiles, placements, kill progress, probes, triggers, hosts, message.

Values are immutable and comparable. They have the names of `schema/batprotocol.fbs`. They do not depend on the wire
formats or on the rules of the conversation. A constructor does not check its arguments: the wire formats check them
when they encode a value, and `MessageBuilder` checks them in each call.

The modules depend on one another in this order: `value` is the base class; `fields` has the types that constructors
take, `doubles` the vectors of doubles, `hosts` the host sets, `enums` the enums. `triggers`, `placements`, `profiles`,
`progress`, `probes`, `jobs` and `simulation` use those. `events` uses all of these, and `message` uses `events`.
"""

from typing import TYPE_CHECKING

from batprotocol.model.doubles import *
from batprotocol.model.enums import *
from batprotocol.model.events import *
from batprotocol.model.hosts import *
from batprotocol.model.jobs import *
from batprotocol.model.message import *
from batprotocol.model.placements import *
from batprotocol.model.probes import *
from batprotocol.model.profiles import *
from batprotocol.model.progress import *
from batprotocol.model.simulation import *
from batprotocol.model.triggers import *
from batprotocol.model.value import Value as Value

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.model import (
        doubles,
        enums,
        events,
        hosts,
        jobs,
        message,
        placements,
        probes,
        profiles,
        progress,
        simulation,
        triggers,
    )

    __all__ = [
        "Value",
        *doubles.__all__,
        *enums.__all__,
        *events.__all__,
        *hosts.__all__,
        *jobs.__all__,
        *message.__all__,
        *placements.__all__,
        *probes.__all__,
        *profiles.__all__,
        *progress.__all__,
        *simulation.__all__,
        *triggers.__all__,
    ]

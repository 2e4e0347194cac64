"""MessageBuilder makes the messages of one side: it owns the clock, checks each event, and fills in what Batsim needs.

Its names are those of Batsim's own C++ library. It must not know which event may be said when, or by whom: that is the
conversation's business.

A call goes through these modules: `from_edc` and `from_batsim` (a method for each event, by the side that sends it, in
the order of the schema), `arguments` (what is made of what they are given), `collector` (the clock and the events so
far; there the types are checked too), `completions` (which field is checked and filled in how) and `fields` (the checks
themselves).
"""

from __future__ import annotations

from batprotocol.builder.arguments import PROTOCOL_VERSION
from batprotocol.builder.from_batsim import FromBatsim
from batprotocol.builder.from_edc import FromEDC

__all__ = ["PROTOCOL_VERSION", "MessageBuilder"]


class MessageBuilder(FromBatsim, FromEDC):
    """Collects the events of one message, in the order of time.

    Args:
        now: the current time, in simulated seconds; finite, and negative where the simulation's is.

    Each `add_<event>` makes one event that happens at the current time, and `add` takes one that is already made. A
    call that is refused raises `BuilderError`, which names the field and the value, and leaves the builder as it was.

    Host sets are given as strings (`"0-3"`, `"0,1,2"`), ints, iterables of ints or `procset.ProcSet`, and are always
    written as the canonical string. Where a sequence is asked for, any iterable will do.

    >>> builder = MessageBuilder(now=10)
    >>> builder.add_execute_job("w0!1", [0, 1, 2, 3])
    >>> builder.add_call_me_later("later", model.OneShot(42))
    >>> message = builder.finish_message()
    >>> message.now, message.events[0].allocation.host_allocation
    (10.0, '0-3')
    """

    __slots__ = ()

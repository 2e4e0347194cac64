"""MessageBuilder makes the messages of one side: it keeps the time, checks each event, and fills in what Batsim needs.

Its names are those of Batsim's C++ library. It does not check which side may send an event or when: the conversation
does.

A call goes through these modules: `from_edc` and `from_batsim` (a method for each event, by the side that sends it, in
the order of the schema), `collector` (the time and the events added so far; it checks the types) and `fields` (the
conversions of arguments, the check and the completion of each field).
"""

from __future__ import annotations

from batprotocol.builder.fields import PROTOCOL_VERSION
from batprotocol.builder.from_batsim import FromBatsim
from batprotocol.builder.from_edc import FromEDC

__all__ = ["PROTOCOL_VERSION", "MessageBuilder"]


class MessageBuilder(FromBatsim, FromEDC):
    """Builds one message: it collects events in the order of time, and checks them.

    Args:
        now: the current time, in simulated seconds; finite, 0 by default. It may be negative.

    Each `add_<event>` method adds one event at the current time; `add` adds an event that already exists. A method that
    refuses its arguments raises `BuilderError` and does not change the builder. The error names the field and the
    value.

    Give host sets as strings (`"0-3"`, `"0,1,2"`), ints, iterables of ints or `procset.ProcSet`. The builder always
    writes the canonical string. Methods that take a sequence take any iterable.

    >>> builder = MessageBuilder(now=10)
    >>> builder.add_execute_job("w0!1", [0, 1, 2, 3])
    >>> builder.add_call_me_later("later", model.OneShot(42))
    >>> message = builder.finish_message()
    >>> message.now, message.events[0].allocation.host_allocation
    (10.0, '0-3')
    """

    __slots__ = ()

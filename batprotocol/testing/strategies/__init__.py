"""Hypothesis strategies for every event and value of the protocol, awkward on purpose.

They generate everything that the wire can carry, not only values that Batsim accepts: they know the ranges of the
schema and nothing of the conversation's rules. Empty and huge vectors, every union member, unknown enum numbers,
non-ASCII names, extreme numbers, and absent fields beside default ones all come up often.

    from hypothesis import given
    from batprotocol.model import Message
    from batprotocol.testing import strategies as bat

    @given(bat.messages("b2e"))
    def test_round_trip(message):
        assert Message.from_binary(message.to_binary()) == message

A strategy has the name of its type in the plural: `job_submitted_events()` for `JobSubmittedEvent`, `jobs()` for `Job`,
`profiles()` for the union `Profile`; `enums(TimeUnit)` serves all enums. `EVENT_STRATEGIES` and `VALUE_STRATEGIES` find
it by type. The strategies of values that hold doubles take `allow_nan`, False by default: a scalar NaN makes a value
unequal to itself, and JSON does not keep the payload of any NaN. Infinities are always generated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from batprotocol import model
from batprotocol._util.requirements import installing
from batprotocol.errors import PackageMissing

try:
    from hypothesis.strategies import SearchStrategy
except ImportError as error:
    raise PackageMissing(
        f"batprotocol.testing.strategies needs the package hypothesis: {installing('test', 'hypothesis', 'pytest')}"
    ) from error

from batprotocol.testing.strategies._common import STRATEGIES
from batprotocol.testing.strategies._doubles import *
from batprotocol.testing.strategies._enums import *
from batprotocol.testing.strategies._events import *
from batprotocol.testing.strategies._events import EVENT_STRATEGIES as EVENT_STRATEGIES
from batprotocol.testing.strategies._hosts import *
from batprotocol.testing.strategies._jobs import *
from batprotocol.testing.strategies._message import *
from batprotocol.testing.strategies._numbers import *
from batprotocol.testing.strategies._placements import *
from batprotocol.testing.strategies._probes import *
from batprotocol.testing.strategies._profiles import *
from batprotocol.testing.strategies._progress import *
from batprotocol.testing.strategies._simulation import *
from batprotocol.testing.strategies._texts import *
from batprotocol.testing.strategies._triggers import *

if not TYPE_CHECKING:  # type checkers export what is imported with `*`, and mypy cannot read such an `__all__`
    from batprotocol.testing.strategies import (
        _doubles,
        _enums,
        _events,
        _hosts,
        _jobs,
        _message,
        _numbers,
        _placements,
        _probes,
        _profiles,
        _progress,
        _simulation,
        _texts,
        _triggers,
    )

    __all__ = [
        "VALUE_STRATEGIES",
        *_doubles.__all__,
        *_enums.__all__,
        *_events.__all__,
        *_hosts.__all__,
        *_jobs.__all__,
        *_message.__all__,
        *_numbers.__all__,
        *_placements.__all__,
        *_probes.__all__,
        *_profiles.__all__,
        *_progress.__all__,
        *_simulation.__all__,
        *_texts.__all__,
        *_triggers.__all__,
    ]

VALUE_STRATEGIES: dict[type[model.Value], Callable[..., SearchStrategy[Any]]] = {
    kind: strategy for kind, strategy in STRATEGIES.items() if kind not in EVENT_STRATEGIES
}
"""The strategy of each value type that is not an event, messages included. Those that hold doubles take `allow_nan`."""

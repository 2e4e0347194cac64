"""Public names of this area that have changed: the old ones work for one version, with a warning."""

from __future__ import annotations

import pytest

from batprotocol.edc import Scheduler, Session
from batprotocol.model import Message
from batprotocol.testing.conformance import InProcess
from batprotocol.testing.conformance._targets import Timeouts

WITHOUT_ENGINE = True


def test_a_session_that_was_told_to_stop() -> None:
    session = Session(lambda text: Message(0.0))
    with pytest.warns(DeprecationWarning, match=r"Session\.told_to_stop is deprecated: use Session\.stop_sent instead"):
        assert session.told_to_stop is session.stop_sent is False


def test_what_a_talk_was_told_and_heard() -> None:
    with InProcess(Scheduler).start(Timeouts(1.0, 1.0)) as talk:
        with pytest.warns(DeprecationWarning, match=r"told is deprecated: use \w+\.log_message instead"):
            talk.told("init")
        with pytest.warns(DeprecationWarning, match=r"heard is deprecated: use \w+\.log_reply instead"):
            talk.heard("hello")
        assert [said for _, said in talk.log] == ["init", "hello"]

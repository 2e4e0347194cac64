"""Names of the conversation that have changed still work, with a warning."""

from __future__ import annotations

import pytest

import batprotocol.conversation
from batprotocol.conversation import AnyMessage, Conversation

WITHOUT_ENGINE = True


def test_the_old_name_of_messages() -> None:
    with pytest.warns(DeprecationWarning, match=r"conversation\.Said is deprecated: use .*\.AnyMessage instead"):
        assert batprotocol.conversation.Said == AnyMessage


def test_the_old_argument_of_feed() -> None:
    conversation = Conversation()
    with pytest.warns(DeprecationWarning, match=r"'said' of feed\(\) is deprecated: use 'message'"):
        assert conversation.feed(said="") == []  # type: ignore[call-arg]
    assert conversation.number == 1
    assert conversation.feed(message=b"")[0].rule == "frame.hello"

"""The first message of a decision component. Its fields come from the user, and the builder checks them."""

from __future__ import annotations

from batprotocol.builder import MessageBuilder
from batprotocol.model import EDCRequestedSimulationFeatures, Message

__all__ = ["hello_message"]


def hello_message(
    name: str, version: str, commit: str = "", features: EDCRequestedSimulationFeatures | None = None
) -> Message:
    """The first message of a decision component; the arguments are those of `MessageBuilder.add_edc_hello`."""
    builder = MessageBuilder()
    builder.add_edc_hello(name, version, commit, features)
    return builder.finish_message()

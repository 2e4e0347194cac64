"""The rules for messages between schedulers, migration frameworks, agents and pscom, and the check of conversations.

`rules` has the rules. `conversation` gives each message to `tasks` (with `machines`), `agents` or `pscom`, which share
a `state`.
"""

from batprotocol.fast.conversation.conversation import Conversation, check
from batprotocol.fast.conversation.rules import CATALOGUE, RULE_SETS, Violation

__all__ = ["CATALOGUE", "RULE_SETS", "Conversation", "Violation", "check"]

"""The rules of conversations in the older protocols, in nine rule sets, and `check` and `Conversation`.

Each rule set describes how one Batsim really behaves: 1.0.0, 1.2.0, 1.4.0, 2.0.0 and 4.2.1 in JSON, and versions 0 to 3
of text.
"""

from batprotocol.legacy.conversation.conversation import Conversation, check, rule_set_of
from batprotocol.legacy.conversation.rules import CATALOGUE, RULE_SETS, Violation, rule_set_for

__all__ = ["CATALOGUE", "RULE_SETS", "Conversation", "Violation", "check", "rule_set_for", "rule_set_of"]

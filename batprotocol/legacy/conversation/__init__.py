"""What may be said when in the older protocols: rules with four rule sets, and `check` and `Conversation`.

Three rule sets are what Batsim 1.4.0, 2.0.0 and 4.2.1 really do, the fourth is the documentation of the text protocol.
"""

from batprotocol.legacy.conversation.conversation import Conversation, check, rule_set_of
from batprotocol.legacy.conversation.rules import CATALOGUE, RULE_SETS, Violation, rule_set_for

__all__ = ["CATALOGUE", "RULE_SETS", "Conversation", "Violation", "check", "rule_set_for", "rule_set_of"]

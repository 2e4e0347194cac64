"""What the rules of the conversation tell people of the cases in `cases.py`, which this prints if it is run."""

from __future__ import annotations

from cases import CASES

from batprotocol.conversation import RULE_SETS, check


def sentences() -> list[str]:
    """A line for each violation of each case that breaks a rule."""
    return [f"{rules}: {each}" for case in CASES.values() for rules in RULE_SETS for each in check(case.breaks, rules)]


if __name__ == "__main__":
    print("\n".join(sentences()))

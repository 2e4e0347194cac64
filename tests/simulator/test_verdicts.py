"""What becomes of scripted conversations: the embedded Batsim ends where Batsim ends, with a rule where that aborts."""

from __future__ import annotations

import pytest
import verdicts

WITHOUT_ENGINE = True


@pytest.mark.slow
def test_conversations_end_as_with_batsim() -> None:
    compared = 0
    for row in verdicts.verdicts():
        ours = verdicts.ending(row)
        if ours is None or row["name"] in verdicts.OTHERWISE:
            continue
        compared += 1
        theirs = "refused" if row["verdict"] == "crashed" else row["verdict"]
        assert ours.partition(":")[0] == theirs, f"{row['name']}: {theirs}, and ours: {ours}"
    assert compared >= 10


@pytest.mark.slow
def test_until_then_all_is_said_as_by_batsim() -> None:
    found = [f"{row['name']}: {text}" for row in verdicts.verdicts() if (text := verdicts.first_difference(row))]
    assert not found, "\n".join(found)

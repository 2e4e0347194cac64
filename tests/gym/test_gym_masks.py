"""Masks and steps agree: random play of each environment, by its mask, is never refused; what is not allowed is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import batprotocol.gym

WITHOUT_ENGINE = True
pytestmark = pytest.mark.once

SMALL = "lublin:8?jobs=40&seed=2"
KINDS: list[tuple[str, dict[str, Any]]] = [
    ("Batch", {}),
    ("Batch", {"choice": "fitting", "wait": True}),
    ("Batch", {"backfilling": "easy"}),
    ("Batch", {"wait": True, "simulated": True}),
    ("Policies", {}),
    ("Backfill", {}),
    ("Power", {}),
    ("Power", {"levels": 2}),
    ("Power", {"levels": 9}),
    ("Power", {"levels": 30}),
]
"""`Hosts` is not here: its mask is of each host alone, and whether a job gets enough hosts depends on all of them."""


def play(kind: str, options: dict[str, Any], seed: int, allowed: bool) -> int:
    """Play an episode by chance with actions that are allowed, or with those that are not, where there are some."""
    env = getattr(batprotocol.gym, kind)(SMALL, jobs=8, **options)
    chance, seen = np.random.default_rng(seed), 0
    _, info = env.reset(seed=seed)
    for _ in range(400):
        mask = info["action_mask"]
        others = np.flatnonzero(mask == 0)
        is_other = not allowed and len(others) > 0
        among = others if is_other else np.flatnonzero(mask)
        # An episode of `Power` ends sooner if hosts are mostly on.
        _, _, over, _, info = env.step(int(max(chance.choice(among, 2)) if kind == "Power" else chance.choice(among)))
        assert ("refused" in info) == is_other, info.get("refused")
        seen += is_other
        if over:
            break
    return seen


@settings(max_examples=12)
@given(st.integers(0, 2**31), st.sampled_from(KINDS))
def test_no_action_of_a_mask_is_refused(seed: int, kind: tuple[str, dict[str, Any]]) -> None:
    play(*kind, seed, allowed=True)


@settings(max_examples=12)
@given(st.integers(0, 2**31), st.sampled_from(KINDS))
def test_each_action_outside_of_a_mask_is_refused(seed: int, kind: tuple[str, dict[str, Any]]) -> None:
    play(*kind, seed, allowed=False)


def test_a_level_that_switches_nothing_is_not_allowed_where_no_event_will_come() -> None:
    env = batprotocol.gym.Power(SMALL, jobs=8, levels=3)
    _, info = env.reset(seed=1)
    while info["action_mask"].all():  # all hosts are switched off as soon as they are free
        _, _, over, _, info = env.step(0)
        assert not over
    assert info["action_mask"].tolist() == [0, 1, 1]
    _, _, _, _, info = env.step(0)
    assert "no event will come" in info["refused"]


@pytest.mark.minutes
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind[0]} {kind[1]}")
def test_masks_and_steps_agree_in_many_episodes(kind: tuple[str, dict[str, Any]]) -> None:
    for seed in range(200):
        play(*kind, seed, allowed=seed % 2 == 0)

"""One seed is one episode on every machine: what is seen and rewarded has the digest that was recorded."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np
import pytest
from support import DATA

WITHOUT_ENGINE = True

RECORDED = DATA / "learning" / "digests.json"
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "blocking": ("Batch", {}),
    "fitting": ("Batch", {"choice": "fitting", "wait": True, "order": "f4"}),
    "backfilling": ("Batch", {"backfilling": "easy", "features": ("f4", "start", "waiting", "fits")}),
    "policies": ("Policies", {"reward": "waiting", "backfilling": "greedy"}),
    "backfill": ("Backfill", {"reward": "utilisation"}),
    "simulated": ("Batch", {"simulated": True, "backfilling": "easy"}),
}


def digest(name: str) -> str:
    """Of all that is seen and rewarded in an episode."""
    import batprotocol.gym

    kind, options = KINDS[name]
    env = getattr(batprotocol.gym, kind)("lublin:64?jobs=300&seed=5", jobs=60, reward_at="step", **options)
    found = hashlib.sha256()
    seen, info = env.reset(seed=11)
    chance, over = np.random.default_rng(3), False
    while not over:
        for part in seen.values():
            found.update(np.ascontiguousarray(part).tobytes())
        allowed = np.flatnonzero(info["action_mask"])
        seen, reward, over, _, info = env.step(int(allowed[int(chance.random() * len(allowed))]))
        found.update(f"{reward:.9e}".encode())
    return found.hexdigest()


@pytest.mark.parametrize("name", KINDS)
def test_episodes_are_those_that_were_recorded(name: str) -> None:
    assert digest(name) == json.loads(RECORDED.read_text())[name]


if __name__ == "__main__":
    RECORDED.parent.mkdir(exist_ok=True)
    RECORDED.write_text(json.dumps({name: digest(name) for name in KINDS}, indent=1) + "\n")

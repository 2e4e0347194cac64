"""Train MaskablePPO on windows of a log, and compare it with SJF and F4 on windows that it has never seen.

    pip install '.[learning]'    # in a clone: docs/start/install.md
    python train_ppo.py lublin_256.swf.gz --seconds 1800 --curve curve.jsonl --model model.zip

The network looks at each job that waits in the same way (the kernel of RLScheduler, Zhang et al., SC 2020): a few
numbers of the job and of the machine make its score, and the probabilities are those of the scores. The
place of a job in the queue does not matter. The reward is minus the slowdown that each step adds, divided by the result
of SJF on the same window, so that hard windows do not count for more than easy ones.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from sb3_contrib import MaskablePPO
from sb3_contrib.common.maskable.policies import MaskableActorCriticPolicy
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.vec_env import DummyVecEnv
from torch import nn

from batprotocol.gym import Batch, LogArrays
from batprotocol.gym.observations import MACHINE
from batprotocol.policies import EASY, FCFS
from batprotocol.simulator import named_workload

HELD_OUT = (1981, 2714, 2756, 3316, 4022, 4299, 5228, 7085, 7762, 8850)
"""The first jobs of the ten sequences of 1,024 jobs that published tables of this log are about."""
TRAINING = ((0, 1981), (6252, 7085))
"""The parts of the log between them that are long enough."""
PUBLISHED = EASY(FCFS(), spare=False, strict=True, once=True)


class Relative(Batch):
    """Rewards divided by the result of SJF on the same window."""

    def begin(self) -> None:
        self._scale = 1.0
        if self.reward_at == "step":
            twin = self.twin
            twin.begin_episode(options={"first": self.world.first})
            self._scale = -play(twin, "sjf")

    @property
    def twin(self) -> Batch:
        if not hasattr(self, "_twin"):
            self._twin = Batch(self.log, jobs=self.jobs, backfilling=PUBLISHED, order=self.order)
        return self._twin

    def decide(self, action: Any) -> tuple[float, bool]:
        reward, is_over = super().decide(action)
        return reward / self._scale, is_over


def play(env: Batch, order: str) -> float:
    """The result of an order in an episode that has just begun."""
    is_over = False
    while not is_over:
        reward, is_over = env.decide(env.pick(order))
    return reward


class Scores(nn.Module):
    """A score for each job of the queue, and the value of it all."""

    def __init__(self, jobs: int, features: int, width: int) -> None:
        super().__init__()
        self.jobs, self.features = jobs, features
        self.latent_dim_pi, self.latent_dim_vf = jobs, width
        self.job = nn.Sequential(
            nn.Linear(features + MACHINE, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1)
        )
        self.seen = nn.Sequential(nn.Linear(features + MACHINE, width), nn.ReLU())
        self.all = nn.Sequential(nn.Linear(2 * width + MACHINE, width), nn.ReLU())

    def _rows(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        table = seen[:, : self.jobs * self.features].reshape(-1, self.jobs, self.features)
        machine = seen[:, -MACHINE:]
        return torch.cat((table, machine[:, None].expand(-1, self.jobs, -1)), 2), machine

    def forward(self, seen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        rows, machine = self._rows(seen)
        return self.job(rows).squeeze(2), self._value(rows, machine)

    def forward_actor(self, seen: torch.Tensor) -> torch.Tensor:
        return self.job(self._rows(seen)[0]).squeeze(2)

    def forward_critic(self, seen: torch.Tensor) -> torch.Tensor:
        return self._value(*self._rows(seen))

    def _value(self, rows: torch.Tensor, machine: torch.Tensor) -> torch.Tensor:
        jobs = self.seen(rows) * (rows.sum(2, keepdim=True) > 0)
        return self.all(torch.cat((jobs.mean(1), jobs.amax(1), machine), 1))


class Policy(MaskableActorCriticPolicy):
    """Actor and critic on `Scores`."""

    def __init__(self, *arguments: Any, jobs: int, features: int, width: int = 32, **options: Any) -> None:
        self._shape = jobs, features, width
        super().__init__(*arguments, **options)

    def _build_mlp_extractor(self) -> None:
        self.mlp_extractor = Scores(*self._shape)

    def _build(self, lr_schedule: Any) -> None:
        super()._build(lr_schedule)
        self.action_net = nn.Identity()  # the scores are those of the actions
        self.optimizer = self.optimizer_class(self.parameters(), lr=lr_schedule(1), **self.optimizer_kwargs)


def evaluate(model: MaskablePPO, env: Batch, starts: tuple[int, ...]) -> list[float]:
    """The mean bounded slowdown of what was learned so far, on each of these windows."""
    values = []
    for first in starts:
        seen, info = env.reset(options={"first": first})
        is_over = False
        while not is_over:
            action, _ = model.predict(seen, deterministic=True, action_masks=info["action_mask"])
            seen, _, is_over, _, info = env.step(int(action))
        values.append(info["mean_bounded_slowdown"])
    return values


class Curve(BaseCallback):
    """Writes what was learned so far from time to time, keeps what was best on training windows, and stops in time."""

    def __init__(self, env: Batch, choosing: tuple[int, ...], given: argparse.Namespace) -> None:
        super().__init__()
        self.env, self.choosing, self.given = env, choosing, given
        self.began, self.best, self.rounds = time.process_time(), float("inf"), 0

    def _on_rollout_start(self) -> None:
        spent = time.process_time() - self.began
        if self.rounds % self.given.every == 0 or spent > self.given.seconds:
            chosen = evaluate(self.model, self.env, self.choosing)
            held_out = evaluate(self.model, self.env, HELD_OUT)
            if fmean(chosen) < self.best:
                self.best = fmean(chosen)
                self.model.save(self.given.model)
            line = {
                "steps": self.num_timesteps,
                "seconds": round(spent),
                "training": round(fmean(chosen), 3),
                "held_out": round(fmean(held_out), 3),
            }
            print(json.dumps(line), flush=True)
            with self.given.curve.open("a") as file:
                file.write(json.dumps(line) + "\n")
        self.rounds += 1

    def _on_step(self) -> bool:
        return time.process_time() - self.began < self.given.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("log", help="lublin_256.swf.gz")
    parser.add_argument("--steps", type=int, default=1_000_000, help="over which the learning rate falls to 0")
    parser.add_argument("--seconds", type=float, default=1800.0, help="of processor time, at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=512, help="of an episode of training")
    parser.add_argument("--envs", type=int, default=8)
    parser.add_argument("--every", type=int, default=10, help="how many rollouts lie between two evaluations")
    parser.add_argument("--curve", type=Path, default=Path("curve.jsonl"))
    parser.add_argument("--model", type=Path, default=Path("model.zip"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    log = LogArrays(named_workload(f"{given.log}?jobs=0-&larger=yes&runtime-limits=yes"))
    options: dict[str, Any] = {"backfilling": PUBLISHED, "observation": "flat", "max_running": 0}
    make = partial(Relative, log, jobs=given.jobs, within=TRAINING, reward_at="step", **options)
    envs = DummyVecEnv([make] * given.envs)
    env = Batch(log, jobs=1024, **options)
    sight = env.sight
    model = MaskablePPO(
        Policy,
        envs,
        seed=given.seed,
        n_steps=1024,
        batch_size=512,
        n_epochs=4,
        gamma=1.0,
        gae_lambda=0.97,
        learning_rate=lambda left: 1e-3 * left,
        ent_coef=0.003,
        target_kl=0.03,
        policy_kwargs={"jobs": sight.max_queue, "features": sight.width},
    )
    starts = tuple(np.linspace(0, TRAINING[0][1] - 1024, 5).astype(int).tolist())
    model.learn(given.steps, callback=Curve(env, starts, given))
    best = MaskablePPO.load(given.model)
    values = evaluate(best, env, HELD_OUT)
    print(f"held-out windows, of what was best in training: {fmean(values):.2f}", [round(value, 2) for value in values])


if __name__ == "__main__":
    main()

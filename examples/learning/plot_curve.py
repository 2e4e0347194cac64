"""Draw what train_ppo.py has written: the mean bounded slowdown of held-out windows, as the agent learns.

python plot_curve.py curve.jsonl learning.svg
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot

PUBLISHED = {"SJF": 73.31, "RLScheduler, as published": 58.64, "F4": 53.64}
"""The results of other schedulers on the same windows, with the same backfilling."""


def draw(curve: Path, picture: Path) -> None:
    lines = [json.loads(line) for line in curve.read_text().splitlines()]
    figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
    steps = [line["steps"] / 1000 for line in lines]
    axes.plot(steps, [line["held_out"] for line in lines], color="#1f77b4", marker="o", markersize=3)
    axes.annotate("MaskablePPO", (steps[0], lines[0]["held_out"]), (8, -2), color="#1f77b4", textcoords="offset points")
    for name, value in PUBLISHED.items():
        axes.axhline(value, color="#777777", linewidth=0.8, linestyle="--")
        axes.annotate(f"{name}: {value}", (1.01, value), xycoords=("axes fraction", "data"), va="center", fontsize=9)
    axes.set_yscale("log")
    axes.set_yticks([40, 50, 60, 80, 100, 200, 400], ["40", "50", "60", "80", "100", "200", "400"])
    axes.minorticks_off()
    axes.set_xlim(left=0)
    axes.set_xlabel("steps, in thousands")
    axes.set_ylabel("mean bounded slowdown, held-out windows")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(picture, metadata={"Date": None} if picture.suffix == ".svg" else None)


if __name__ == "__main__":
    draw(Path(sys.argv[1]), Path(sys.argv[2]))

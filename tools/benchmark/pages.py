"""Pages of timelines in a real browser: how soon they are there, and how many pictures a second they draw.

The runs are made up: jobs of all sizes, back to back on 512 hosts, with the messages about each. A headless Chromium
opens the page and turns the wheel, zooming and moving, once with all jobs in view. The times are those of this machine,
whatever else it does.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent.parent))
sys.path.append(str(Path(__file__).resolve().parent.parent.parent / "tests"))

from browser import Browser, Tab

from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline import Messages, Timeline, TimelineData, TimelineJob

__all__ = ["made_up", "main"]

HOSTS = 512
TURNS = 40
SHIFT = 8
FRAMES = "window.frames_ = []; (function next(now) { frames_.push(now); requestAnimationFrame(next); })(0); 0"


def made_up(count: int, hosts: int = HOSTS) -> TimelineData:
    """A run of `count` jobs, each on the hosts that are free first."""
    chance = random.Random(count)
    free = [0.0] * hosts
    jobs = []
    messages = Messages()
    now = 0.0
    for number in range(count):
        size = min(hosts, 2 ** chance.choice((0, 0, 0, 1, 2, 2, 3, 4, 5, 6)))
        first = chance.randrange(0, hosts - size + 1)
        start = max(now, *free[first : first + size])
        end = start + chance.expovariate(1 / 600)
        free[first : first + size] = [end] * size
        state = chance.choices(list(FinalJobState)[:4], (90, 4, 4, 2))[0]
        job_id = f"w0!{number}"
        jobs.append(
            TimelineJob(
                job_id=job_id,
                submitted=now,
                started=start,
                finished=end,
                hosts=((first, first + size - 1),),
                state=state,
                requested=size,
            )
        )
        for sender, kind in ((0, "JobSubmitted"), (1, "ExecuteJob")):
            text = f"{kind} {job_id}" if messages.wants_text else None
            messages.add(now, sender, kind, 1, [job_id], text)
        now += chance.expovariate(1 / 40)
    messages.finish()
    return TimelineData(f"{count:,} jobs", jobs, hosts=hosts, messages=messages)


def rate(tab: Tab, turned: list[int], modifiers: int = 0) -> float:
    """Pictures a second while the wheel is turned."""
    tab.run("frames_.length = 0")
    began = time.perf_counter()
    for turn in turned:
        tab.wheel(640, 300, turn, modifiers)
    tab.run("new Promise(requestAnimationFrame)")
    return float(tab.run("frames_.length")) / (time.perf_counter() - began)


def measure(browser: Browser, count: int, folder: Path) -> None:
    began = time.process_time()
    path = folder / f"{count}.html"
    Timeline([made_up(count)]).save(path)
    made = time.process_time() - began
    tab = browser.open(path)
    tab.wait("document.body && document.body.dataset.ready === 'yes'")
    ready = tab.run("Number(document.body.dataset.milliseconds)") / 1000
    tab.run(FRAMES)
    whole = rate(tab, [-40, 40] * (TURNS // 2), SHIFT)
    closer = rate(tab, [-40] * TURNS)
    moving = rate(tab, [60, -60] * (TURNS // 2), SHIFT)
    farther = rate(tab, [60] * TURNS)
    tab.close()
    size = os.path.getsize(path) / 1e6
    print(f"{count:9,} jobs: {size:.1f} MB, made in {made:.1f} s of the processor, there after {ready:.2f} s")
    print(
        f"{'':15} frames a second: all in view {whole:.0f}, zoom in {closer:.0f}, move {moving:.0f}, out {farther:.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("jobs", type=int, nargs="*", default=[5_000, 100_000], help="how many jobs")
    counts = parser.parse_args().jobs
    with Browser() as browser, tempfile.TemporaryDirectory() as folder:
        for count in counts:
            measure(browser, count, Path(folder))


if __name__ == "__main__":
    main()

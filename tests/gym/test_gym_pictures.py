"""Texts and pictures of environments are those that are known.

`PYTHONPATH=tests python tests/gym/test_gym_pictures.py > tests/data/learning/pictures.txt` keeps the pictures of
today, after a change that is meant to change them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import DATA

from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload

if TYPE_CHECKING:
    from batprotocol.gym._world import World

WITHOUT_ENGINE = True

KNOWN = DATA / "learning" / "pictures.txt"


def crowd(count: int, hosts: int, runs: int) -> World:
    """A world of these hosts, where `runs` jobs run, others wait, and three are to come."""
    from batprotocol.gym import LogArrays
    from batprotocol.gym._world import Direct

    jobs = [
        StaticJob(
            f"job{number}",
            15.0 * number,
            (hosts // runs - number % 2 if number < runs else hosts - number % 3) if runs else 1,
            DelayProfile(1e7),
            walltime=None if number % 5 == 2 else (1200.0, 5400.0, 90000.0, 1e6)[number % 4] + 700.0 * number,
        )
        for number in range(count)
    ]
    world = Direct(LogArrays(Workload(jobs), hosts=hosts), 0, count)
    while world.next < count - 3:
        if len(world.started) < runs:
            world.start(world.take(0))
        world.advance()
    return world


def powered() -> World:
    """A world whose hosts are off, are idle, and have jobs."""
    from batprotocol.gym import Power

    jobs = [StaticJob(str(number), 50.0 * number, 1 + number % 3, DelayProfile(900.0), 1000.0) for number in range(20)]
    env = Power(Workload(jobs), hosts=10, jobs=16)
    env.reset(options={"first": 2})
    for action in (4, 2, 1, 1, 3, 2):
        env.step(action)
    return env.world


def placed() -> World:
    """A world whose jobs are on hosts apart."""
    from batprotocol.gym import Hosts

    jobs = [StaticJob(str(number), 0.0, 2, DelayProfile(60.0 * (1 + number)), 7200.0) for number in range(5)]
    env = Hosts(Workload(jobs), hosts=6, jobs=5)
    env.reset(options={"first": 0})
    env.step(np.array([1, 0, 2, 0, 2, 1]))
    return env.world


WORLDS = {
    "few": lambda: crowd(9, 8, 2),
    "some": lambda: crowd(24, 40, 8),
    "many": lambda: crowd(60, 300, 24),
    "narrow": lambda: crowd(32, 128, 13),
    "full": lambda: crowd(21, 12, 3),
    "overflowing": lambda: crowd(25, 1200, 4),
    "idle": lambda: crowd(5, 1, 0),
    "powered": powered,
    "placed": placed,
}


def shown(world: World) -> Iterator[tuple[str, str]]:
    """The digests of texts and pictures, as far as one looks into the queue."""
    from batprotocol.gym._rendering import picture, text

    for most in (1, 10, 11, 25):
        yield f"text-{most}", hashlib.sha256(text(world, most).encode()).hexdigest()[:16]
        yield f"picture-{most}", hashlib.sha256(picture(world, most).tobytes()).hexdigest()[:16]


def known() -> dict[str, str]:
    return dict(line.split(" ") for line in KNOWN.read_text().splitlines())


@pytest.mark.parametrize("name", WORLDS)
def test_pictures_are_those_that_are_known(name: str) -> None:
    digests = known()
    for part, digest in shown(WORLDS[name]()):
        assert digest == digests[f"{name}-{part}"], part


FEW = """\
time 75 s (1.25 min): 7 of 8 hosts busy
jobs: 2 running, 4 waiting, 3 to come
[###################################.....]
 running job  hosts     walltime ends in  allocation
        job0      4   1,125 s (18.8 min)
        job1      3     6,040 s (1.68 h)
 waiting job  hosts             walltime               waited  place
        job2      6          no walltime                 45 s  0
        job3      8 1,002,100 s (11.6 d)                 30 s  1
        job4      7     4,000 s (1.11 h)                 15 s  2"""
POWERED = """\
time 300 s (5 min): 4 of 10 hosts busy, 2 off
jobs: 2 running, 3 waiting, 11 to come
[################........................]
 running job  hosts     walltime ends in  allocation
           2      3     800 s (13.3 min)  0-2
           3      1     850 s (14.2 min)  3
 waiting job  hosts             walltime               waited  place
           4      2   1,000 s (16.7 min)     100 s (1.67 min)  0
           5      3   1,000 s (16.7 min)                 50 s  1
           6      1   1,000 s (16.7 min)                  0 s  2"""


def test_texts_show_the_jobs() -> None:
    from batprotocol.gym._rendering import text

    assert text(WORLDS["few"](), 3) == FEW
    assert text(WORLDS["powered"](), 128) == POWERED


def test_bars_are_as_long_as_their_times() -> None:
    """A time of t seconds is at t / (t + 3600) of the 388 columns on the left, and of the 442 on the right."""
    from batprotocol.gym._rendering import picture

    image = picture(WORLDS["few"](), 3)
    blues = [
        (image[row, 76:466] == colour).all(axis=1) for row, colour in ((99, (120, 180, 225)), (297, (160, 205, 240)))
    ]
    assert [int(np.flatnonzero(blue)[-1]) + 1 for blue in blues] == [
        round(388 * time / (time + 3600)) for time in (1125, 6040)
    ]
    oranges = (image[97 + 22, 500:944] == (255, 215, 165)).all(axis=1)
    assert int(np.flatnonzero(oranges)[-1]) + 1 == round(442 * 1002100 / (1002100 + 3600))
    assert image[491 - 30, 300].tolist() == [236, 236, 236]  # the eighth host is free


@pytest.mark.parametrize("seconds", [0.0, 1.0, 18.6, 30.0, 3600.0, 1e9])
@pytest.mark.parametrize("height", [1, 2, 3, 20])
def test_each_pixel_of_a_bar(seconds: float, height: int) -> None:
    """Each bar is two columns wide at least, and a white row parts it from the next one, if it has more than two."""
    from batprotocol.gym._rendering import _draw_bar

    image = np.zeros((60, 500, 3), np.uint8)
    _draw_bar(image, (80, 470), 10, 10 + height, seconds, (1, 2, 3))
    width = max(2, round(388 * seconds / (seconds + 3600)))
    expected = np.zeros_like(image)
    expected[10 : 10 + height, 80 : 80 + width] = (1, 2, 3)
    expected[10 + height - 1, 80:470] = (255, 255, 255) if height > 2 else (1, 2, 3)
    assert np.array_equal(image, expected)


LETTERS = "".join(map(chr, range(32, 127)))


def test_letters_are_those_of_the_font() -> None:
    from batprotocol.gym._rendering import HEIGHT, WIDTH, dots, write

    assert (HEIGHT, WIDTH) == (8, 6)
    assert hashlib.sha256(dots(LETTERS).tobytes()).hexdigest()[:16] == "8619f8302ddc93f8"
    for character in ("\x1f", "\x7f", "\u20ac"):
        assert (dots(character) == dots("?")).all()
    assert [[int(dot) for dot in row] for row in dots("g")] == [
        [0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [0, 1, 1, 1, 1, 0],
        [1, 0, 0, 0, 1, 0],
        [1, 0, 0, 0, 1, 0],
        [0, 1, 1, 1, 1, 0],
        [0, 0, 0, 0, 1, 0],
        [0, 1, 1, 1, 0, 0],
    ]
    image = np.zeros((20, 20, 3), np.uint8)
    write(image, "I", 2, 3, (1, 2, 3))
    assert [tuple(map(int, place)) for place in np.argwhere(image[:, :, 1])[[0, -1]]] == [(2, 5), (15, 10)]
    assert image[2, 5].tolist() == [1, 2, 3]
    edge = np.zeros((9, 4, 3), np.uint8)
    write(edge, "I", 0, 0, (9, 9, 9), 1)
    assert edge[:, :, 0].any(axis=1).sum() == 7


if __name__ == "__main__":
    for each, made in WORLDS.items():
        for what, found in shown(made()):
            print(f"{each}-{what}", found)

"""Texts and pictures of a world for people: its time, its running jobs, and the first jobs of its queue."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

import numpy as np
import numpy.typing as npt

from batprotocol.gym._world import World
from batprotocol.gym.log import NEVER
from batprotocol.results.text import duration

WIDTH: Final = 6
"""The width of a character in dots, with the space behind it."""
HEIGHT: Final = 8
"""The height of a character in dots."""
_FIRST: Final = 32
_ROWS: Final = (  # noqa: SIM905
    "00000000000000 04040404000004 0A0A0A00000000 0A0A1F0A1F0A0A 040F140E051E04 18190204081303 0C12140815120D "
    "04040800000000 02040808080402 08040202020408 0004150E150400 0004041F040400 00000000000C0408 "
    "0000001F000000 00000000000C0C 00010204081000 0E11131519110E 040C040404040E 0E11010204081F 1F02040201110E "
    "02060A121F0202 1F101E0101110E 0608101E11110E 1F010204080808 0E11110E11110E 0E11110F01020C 000C0C000C0C00 "
    "00000C0C000C0408 02040810080402 00001F001F0000 08040201020408 0E110102040004 0E11010D15150E "
    "0E11111F111111 1E11111E11111E 0E11101010110E 1C12111111121C 1F10101E10101F 1F10101E101010 0E11101711110F "
    "1111111F111111 0E04040404040E 0702020202120C 11121418141211 1010101010101F 111B1515111111 11111915131111 "
    "0E11111111110E 1E11111E101010 0E11111115120D 1E11111E141211 0F10100E01011E 1F040404040404 1111111111110E "
    "11111111110A04 1111111515150A 11110A040A1111 1111110A040404 1F01020408101F 0E08080808080E 00100804020100 "
    "0E02020202020E 040A1100000000 0000000000001F 08040200000000 00000E010F110F 1010161911111E 00000E1010110E "
    "01010D1311110F 00000E111F100E 0609081C080808 00000F11110F010E 10101619111111 04000C0404040E "
    "020006020202120C 10101214181412 0C04040404040E 00001A15151111 00001619111111 00000E1111110E "
    "00001E11111E1010 00000D13110F0101 00001619101010 00000E100E011E 08081C08080906 0000111111130D "
    "00001111110A04 0000111115150A 0000110A040A11 00001111110F010E 00001F0204081F 02040408040402 "
    "04040404040404 08040402040408 00000815020000 "
).split()
"""The rows of each character from the space on, two hexadecimal digits a row: seven rows, or eight with a descender.
The highest of five bits is the left one."""


def dots(text: str) -> npt.NDArray[np.bool_]:
    """The dots of a text, in `HEIGHT` rows. Characters that the font does not have are question marks.

    >>> dots("I").astype(int).tolist()[:2]
    [[0, 1, 1, 1, 0, 0], [0, 0, 1, 0, 0, 0]]
    """
    made = np.zeros((HEIGHT, WIDTH * len(text)), np.bool_)
    for place, character in enumerate(text):
        number = ord(character) - _FIRST
        rows = bytes.fromhex(_ROWS[number if 0 <= number < len(_ROWS) else ord("?") - _FIRST].ljust(2 * HEIGHT, "0"))
        bits = np.unpackbits(np.frombuffer(rows, np.uint8)[:, None], axis=1)[:, 3:]
        made[:, place * WIDTH : place * WIDTH + WIDTH - 1] = bits
    return made


def write(
    image: npt.NDArray[np.uint8], text: str, top: int, left: int, colour: tuple[int, int, int], scale: int = 2
) -> None:
    """Write a text into a picture. Parts beyond its edges are cut off.

    Args:
        image: an array of (height, width, 3) bytes.
        text: the text.
        top: the row of its upper edge, >= 0.
        left: the column of its left edge, >= 0.
        colour: red, green and blue.
        scale: the number of pixels of a dot, in both directions.
    """
    drawn = dots(text).repeat(scale, 0).repeat(scale, 1)
    part = image[top : top + drawn.shape[0], left : left + drawn.shape[1]]
    part[drawn[: part.shape[0], : part.shape[1]]] = colour


# The world


_BAR: Final = 40
"""The number of characters of the bar of busy hosts."""
_SHOWN: Final = 10
"""The maximum number of jobs in each list of a text."""
_HOUR: Final = 3600.0

_SIZE: Final = (540, 960)
_TOP, _BOTTOM = 96, 492
"""The rows between which the panels of a picture are."""
_RUNNING: Final = (76, 466)
_QUEUE: Final = (500, 944)
"""The columns between which each panel is."""
_ROW: Final = 22
"""The height of a job in the queue."""
_SMALL, _LARGE = 1, 2
"""The scales of letters."""
_TICKS: Final = ((0.0, "0"), (600.0, "10 min"), (_HOUR, "1 h"), (4 * _HOUR, "4 h"), (24 * _HOUR, "1 d"))
_WHITE, _BLACK, _LINE = (255, 255, 255), (32, 32, 32), (190, 190, 190)
_FREE, _OFF = (236, 236, 236), (120, 120, 120)
_BLUE: Final = ((120, 180, 225), (160, 205, 240))
_ORANGE: Final = ((255, 190, 120), (255, 215, 165))


def text(world: World, max_queue: int) -> str:
    """The time, the machine, the running jobs that end first, and the first jobs of the queue."""
    busy = world.busy
    bar = "#" * round(busy / world.log.hosts * _BAR)
    lines = [f"time {duration(world.now)}: {_machine(world)}", _counts(world), f"[{bar:.<{_BAR}}]"]
    lines += filter(None, [_free(world)])
    running = list(zip(world.ends, world.end_jobs, strict=True))
    if running:
        lines.append(f"{'running job':>12} {'hosts':>6} {'walltime ends in':>20}  allocation")
    for end, job in running[:_SHOWN]:
        hosts = world.hosts_of(job)
        where = "" if hosts is None else f"  {hosts}"
        lines.append(f"{_name(world, job):>12} {world.sizes[job]:>6} {_until(world, end):>20}{where}".rstrip())
    lines += _more(len(running))
    waiting = world.queue[:max_queue]
    if waiting:
        lines.append(f"{'waiting job':>12} {'hosts':>6} {'walltime':>20} {'waited':>20}  place")
    for place, job in enumerate(waiting[:_SHOWN]):
        limit, waited = _walltime(world, job), duration(world.now - world.submitted[job])
        lines.append(f"{_name(world, job):>12} {world.sizes[job]:>6} {limit:>20} {waited:>20}  {place}")
    lines += _more(len(world.queue))
    return "\n".join(lines)


def _more(count: int) -> list[str]:
    return [f"{'...':>12} and {count - _SHOWN} more"] if count > _SHOWN else []


def picture(world: World, max_queue: int) -> npt.NDArray[np.uint8]:
    """On the left the running jobs on their hosts, with the time until their walltimes; on the right the queue."""
    image = np.full((*_SIZE, 3), _WHITE, np.uint8)
    write(image, f"time {duration(world.now)}: {_machine(world)}", 12, 16, _BLACK)
    write(image, _counts(world), 36, 16, _BLACK)
    write(image, _free(world), 58, 16, _BLACK, _SMALL)
    write(image, "running jobs: time to walltime", _TOP - 24, _RUNNING[0] + 16, _BLACK)
    write(image, "queue: hosts, walltime, waited", _TOP - 24, _QUEUE[0], _BLACK)
    _draw_hosts(image, world)
    _draw_running(image, world)
    _draw_queue(image, world, max_queue)
    for panel in (_RUNNING, _QUEUE):
        _draw_axis(image, panel)
    return image


def _draw_hosts(image: npt.NDArray[np.uint8], world: World) -> None:
    """The axis of the hosts, with free and sleeping hosts."""
    hosts = world.log.hosts
    image[_TOP:_BOTTOM, _RUNNING[0] : _RUNNING[1]] = _FREE
    for first, last in world.sleeping().intervals:
        top, bottom = _host_rows(first, last, hosts)
        image[top:bottom, _RUNNING[0] : _RUNNING[1]] = _OFF
        _write_within(image, "off", top, bottom, _RUNNING, _WHITE)
    write(image, "hosts", _TOP - 24, 8, _BLACK)
    for number in sorted({0, hosts // 2, hosts}):
        row = round(_TOP + (_BOTTOM - _TOP) * number / hosts)
        image[row : row + 1, _RUNNING[0] - 6 : _RUNNING[0]] = _BLACK
        label = str(number)
        left = _RUNNING[0] - 8 - WIDTH * _LARGE * len(label)
        write(image, label, row if number == 0 else row - HEIGHT * _LARGE, max(left, 0), _BLACK)


def _draw_running(image: npt.NDArray[np.uint8], world: World) -> None:
    """The running jobs: on their hosts, or one below the other where only the number of these is known."""
    below = 0
    lanes = _lanes(world)
    for number, (end, job) in enumerate(zip(world.ends, world.end_jobs, strict=True)):
        size = world.sizes[job]
        hosts = world.hosts_of(job)
        intervals = ((below, below + size - 1),) if hosts is None else hosts.intervals
        below += size
        label = f"{_name(world, job)}: {size} host{'s' * (size != 1)}, {_short(_until(world, end))}"
        parts = [_host_rows(first, last, world.log.hosts) for first, last in intervals]
        if lanes and hosts is not None:
            parts = [_lane(lanes[host], job, *_host_rows(host, host, world.log.hosts)) for host in hosts]
        for top, bottom in parts:
            _draw_bar(image, _RUNNING, top, bottom, max(0.0, end - world.now), _BLUE[number % 2])
            _write_within(image, label, top, bottom, _RUNNING, _BLACK)


def _lanes(world: World) -> dict[int, list[int]]:
    """The running jobs of each host, where several jobs share one; else empty."""
    lanes: dict[int, list[int]] = defaultdict(list)
    if sum(world.sizes[job] for job in world.end_jobs) > world.busy:
        for job in world.end_jobs:
            for host in world.hosts_of(job) or ():
                lanes[host].append(job)
    return lanes


def _lane(jobs: list[int], job: int, top: int, bottom: int) -> tuple[int, int]:
    """The rows of a job on a host that it shares: all jobs of the host have the same height."""
    place, height = jobs.index(job), bottom - top
    return top + height * place // len(jobs), top + height * (place + 1) // len(jobs)


def _draw_queue(image: npt.NDArray[np.uint8], world: World, max_queue: int) -> None:
    """The first jobs of the queue, from the top."""
    waiting = world.queue[:max_queue]
    shown = min(len(waiting), (_BOTTOM - _TOP) // _ROW)
    if shown < len(world.queue):
        shown = min(shown, (_BOTTOM - _TOP) // _ROW - 1)
    for place, job in enumerate(waiting[:shown]):
        top = _TOP + place * _ROW
        size = world.sizes[job]
        _draw_bar(image, _QUEUE, top, top + _ROW - 2, world.walltimes[job], _ORANGE[place % 2])
        waited = _short(duration(world.now - world.submitted[job]))
        limit = _short(_walltime(world, job))
        label = f"{_name(world, job)}: {size} host{'s' * (size != 1)}, {limit}, {waited}"
        _write_within(image, label, top, top + _ROW - 2, _QUEUE, _BLACK)
    if shown < len(world.queue):
        write(image, f"and {len(world.queue) - shown} more", _TOP + shown * _ROW + 2, _QUEUE[0] + 6, _BLACK)


def _draw_bar(
    image: npt.NDArray[np.uint8],
    panel: tuple[int, int],
    top: int,
    bottom: int,
    seconds: float,
    colour: tuple[int, int, int],
) -> None:
    image[top:bottom, panel[0] : max(_column(panel, seconds), panel[0] + 2)] = colour
    image[max(bottom - 1, top) : bottom, panel[0] : panel[1]] = _WHITE if bottom - top > 2 else colour


def _draw_axis(image: npt.NDArray[np.uint8], panel: tuple[int, int]) -> None:
    """The axis of times, which ends at infinity: a time of t seconds is at t / (t + 3600)."""
    image[_BOTTOM : _BOTTOM + 2, panel[0] : panel[1]] = _BLACK
    for seconds, label in _TICKS:
        column = _column(panel, seconds)
        image[_BOTTOM : _BOTTOM + 8, column : column + 2] = _BLACK
        width = WIDTH * _LARGE * len(label)
        write(image, label, _BOTTOM + 14, max(column - width // 2, 0), _BLACK)


def _column(panel: tuple[int, int], seconds: float) -> int:
    return panel[0] + round(seconds / (seconds + _HOUR) * (panel[1] - panel[0] - 2))


def _host_rows(first: int, last: int, hosts: int) -> tuple[int, int]:
    """The rows of hosts in a picture."""
    height = _BOTTOM - _TOP
    return round(_TOP + height * first / hosts), round(_TOP + height * (last + 1) / hosts)


def _write_within(
    image: npt.NDArray[np.uint8],
    label: str,
    top: int,
    bottom: int,
    panel: tuple[int, int],
    colour: tuple[int, int, int],
) -> None:
    """Write a label between two rows, as large as it fits; nothing if there are too few rows."""
    for scale in (_LARGE, _SMALL):
        if bottom - top >= HEIGHT * scale + 2:
            area = image[:, : panel[1]]
            write(area, label, (top + bottom - HEIGHT * scale) // 2, panel[0] + 6, colour, scale)
            return


def _machine(world: World) -> str:
    hosts = world.log.hosts
    off = len(world.sleeping())
    return f"{world.busy} of {hosts} hosts busy" + (f", {off} off" if off else "")


def _free(world: World) -> str:
    """The free shares of resources, where jobs share hosts; else nothing."""
    shares = ", ".join(f"{share:.0%} of {name}" for name, share in world.free_shares().items())
    return f"free: {shares}" if shares else ""


def _counts(world: World) -> str:
    return f"jobs: {len(world.ends)} running, {world.waiting} waiting, {world.count - world.next} to come"


def _name(world: World, job: int) -> str:
    """The name of a job in its log."""
    return world.log.job(world.first + job)[0].partition("!")[2]


def _walltime(world: World, job: int) -> str:
    limit = world.walltimes[job]
    return "no walltime" if limit == NEVER else duration(limit)


def _until(world: World, end: float) -> str:
    return "no walltime" if end >= NEVER / 2 else duration(max(0.0, end - world.now))


def _short(text: str) -> str:
    """`1.5 h` of `5,400 s (1.5 h)`."""
    return text.partition("(")[2].rstrip(")") or text

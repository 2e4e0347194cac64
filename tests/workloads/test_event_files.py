"""Files of events of hosts, and planned windows: bad ones are refused with file and line, or counted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.model.hosts import frozen_hosts
from batprotocol.workloads.host_events import (
    Window,
    planned_windows,
    read_host_event,
    read_host_events,
    read_windows,
    repeated_windows,
    write_host_events,
)

WITHOUT_ENGINE = True
WEEK, DAY, HOUR = 604800.0, 86400.0, 3600.0


def line(time: object, **data: object) -> str:
    return json.dumps({"type": "generic", "timestamp": time, "data": json.dumps(data)}) + "\n"


def window(begin: float, end: float, hosts: str = "0-3", time: float = 0) -> str:
    return line(time, hosts=hosts, window={"begin": begin, "end": end})


DOWN, UP = line(10, hosts="0-1", state="down"), line(20, hosts="0-1", state="up")

BAD: dict[str, tuple[str, str, str]] = {
    "no such host": (line(5, hosts="3-4", state="down"), "there is no host 4", "it names hosts that do not exist"),
    "no such host in a window": (window(5, 6, "9"), "there is no host 9", "it names hosts that do not exist"),
    "a repair before its failure": (
        line(5, hosts="2", state="up"),
        "host 2 is up already",
        "its hosts cannot change to this state, such as a repair before its failure",
    ),
    "a second failure": (
        line(15, hosts="1-2", state="down"),
        "host 1 is down already",
        "its hosts cannot change to this state, such as a repair before its failure",
    ),
    "a drained host that is down": (
        line(15, hosts="1", state="drain"),
        "host 1 is down",
        "its hosts cannot change to this state, such as a repair before its failure",
    ),
    "windows that overlap": (
        window(150, 160, "3", 30),
        "overlaps with the window from 100 to 200 on hosts 3",
        "its window overlaps with another one on the same hosts",
    ),
    "an end before the begin": (
        window(9, 8),
        "window.end: expected a time after the begin",
        "its window cannot be read",
    ),
    "a begin before the event": (window(9, 99, time=10), "not before the event", "its window begins before the event"),
    "a time that is not a number": (
        line(0, hosts="0", window={"begin": "noon", "end": 9}),
        "window.begin: expected seconds",
        "its window cannot be read",
    ),
    "a timestamp that is not a number": (
        line("noon", hosts="0", state="down"),
        "timestamp: expected a number",
        "it is not an external event",
    ),
    "a state that there is not": (line(5, hosts="0", state="off"), "state: expected", "its state cannot be read"),
    "hosts with names": (line(5, hosts="n0", state="down"), "hosts: expected", "its hosts are not a set of hosts"),
    "no JSON": ("{\n", "this is not JSON", "it is not an external event"),
    "another type": ('{"type": "x", "timestamp": 1, "data": ""}\n', "not a type", "it is not an external event"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_event_is_refused_with_its_place_or_counted(name: str, tmp_path: Path) -> None:
    bad, message, reason = BAD[name]
    path = tmp_path / "events.jsonl"
    good = [DOWN, "\n", UP, line(1, other="data"), window(100, 200)]
    path.write_text("".join([*good[:2], bad, *good[2:]]))
    with pytest.raises(InputError) as caught:
        read_host_events([path], 4)
    assert (caught.value.file, caught.value.line) == (str(path), 3)
    assert message in str(caught.value)
    left_out = LeftOut()
    (found,) = read_host_events([path], 4, left_out=[left_out])
    assert [(each.reason, each.lines) for each in left_out] == [(reason, (3,))]
    path.write_text("".join(good))
    (expected,) = read_host_events([path], 4)
    assert [(each.timestamp, each.data) for each in found.events] == [
        (each.timestamp, each.data) for each in expected.events
    ]
    assert len({each.id for each in found.events}) == len(found.events)


def test_files_are_checked_together(tmp_path: Path) -> None:
    (tmp_path / "a").write_text(DOWN)
    (tmp_path / "b").write_text(UP + line(30, hosts="0", state="up"))
    with pytest.raises(InputError, match="host 0 is up already") as caught:
        read_host_events([tmp_path / "a", tmp_path / "b"], 4)
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "b"), 2)
    counts = [LeftOut(), LeftOut()]
    lists = read_host_events([tmp_path / "a", tmp_path / "b"], 4, left_out=counts)
    assert [(each.name, len(each.events)) for each in lists] == [("ee0", 1), ("ee1", 1)]
    assert [count.rows for count in counts] == [0, 1]
    with pytest.raises(InputError):
        read_host_events([tmp_path / "b"], 4)


def test_windows_may_meet(tmp_path: Path) -> None:
    path = tmp_path / "events"
    path.write_text(window(10, 20) + window(20, 30) + window(10, 20, "4-5"))
    assert len(read_host_events([path], 6)[0].events) == 3


# Planned windows


def test_every_monday_six_hours(tmp_path: Path) -> None:
    windows = repeated_windows(
        "0-7", every=WEEK, at=DAY + 8 * HOUR, duration=6 * HOUR, until=4 * WEEK, name="m", maintenance=True
    )
    planned = planned_windows(windows, announced=3 * DAY)
    assert [time / HOUR for time, _ in planned] == [0, 32 + 168 - 72, 32 + 336 - 72, 32 + 504 - 72]
    assert {each.end - each.begin for _, each in planned} == {6 * HOUR}
    assert all(each.is_closed and each.is_maintenance for _, each in planned)
    with (tmp_path / "events").open("w") as file:
        assert write_host_events(planned, file) == 4
    (found,) = read_host_events([tmp_path / "events"], 8)
    assert [read_host_event(each.data) for each in found.events] == [each for _, each in planned]
    assert [time for time, _ in planned_windows([each for _, each in planned])] == [0.0] * 4


@pytest.mark.parametrize(
    ("every", "duration", "until", "at", "hosts"),
    [(0.0, 1.0, 9.0, 0.0, "0"), (1.0, 2.0, 9.0, 0.0, "0"), (1.0, 0.0, 9.0, 0.0, "0"), (1.0, 1.0, 9.0, -1.0, "0"),
     (1e-9, 1e-9, 9.0, 0.0, "0"), (float("nan"), 1.0, 9.0, 0.0, "0"), (1.0, 1.0, float("inf"), 0.0, "0"),
     (1.0, 1.0, 9.0, 0.0, "x"), (1.0, 1.0, 9.0, 0.0, "")],
)  # fmt: skip
def test_repetitions_that_make_no_sense(every: float, duration: float, until: float, at: float, hosts: str) -> None:
    with pytest.raises(InputError):
        repeated_windows(hosts, every=every, duration=duration, until=until, at=at)


def test_a_table_of_windows(tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    path.write_text(
        'hosts,begin,end,name,users,accounts,flags,announced\n"0-3,7",1d,1d6h,course,"ann,bob",,,6h\n8,90,100,,,phys,,\n'
        "0-9,7d,7d6h,,,,MAINT,1d\n"
    )
    ann = Window(frozen_hosts("0-3 7"), DAY, DAY + 6 * HOUR, "course", ("ann", "bob"))
    found = read_windows(path, announced=30.0)
    assert [time for time, _ in found] == [60.0, 18 * HOUR, 6 * DAY]
    assert found[1][1] == ann
    assert (found[0][1].accounts, found[2][1].is_maintenance) == (("phys",), True)
    assert read_windows(path)[0][0] == 0.0


@pytest.mark.parametrize(
    ("row", "column"),
    [("x,1,2,", "hosts"), ("0,x,2,", "begin"), ("0,1,,", "end"), ("0,2,1,", "end"), ("0,1,2,DAILY", "flags"),
     ("0", "begin"),
     ('"0,1,2', "begin")],
)  # fmt: skip
def test_bad_rows_of_a_table(row: str, column: str, tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    path.write_text(f"hosts,begin,end,flags\n0,5,6,\n{row}\n")
    with pytest.raises(InputError) as caught:
        read_windows(path)
    assert (caught.value.file, caught.value.path) == (str(path), column)
    assert caught.value.line == 3
    left_out = LeftOut()
    assert len(read_windows(path, left_out=left_out)) == 1
    assert [each.lines for each in left_out] == [(3,)]


@pytest.mark.parametrize("header", ["", "hosts,begin", "hosts,begin,end,user"])
def test_bad_headers_of_a_table(header: str, tmp_path: Path) -> None:
    path = tmp_path / "windows.csv"
    path.write_text(header + "\n")
    with pytest.raises(InputError, match="expected columns hosts, begin, end"):
        read_windows(path, left_out=LeftOut())

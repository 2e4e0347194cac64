"""Usage traces and external events: what their files mean, and how wrong ones are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import TraceReplayProfile, TraceType
from batprotocol.testing import simulations
from batprotocol.workloads import ExternalEventList, Usage, read_external_events, read_traces, read_workload
from batprotocol.workloads.events import unstable_sorted

WITHOUT_ENGINE = True


# Usage traces


def test_usage_traces(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "traces").mkdir()
    (tmp_path / "traces" / "all.txt").write_text("rank0\n\nrank1\n")
    (tmp_path / "traces" / "rank0").write_text("# comment\n0 m_usage 0.5 1000\n1 m_usage 1 1\n00 m_usage 1 2e3\n")
    (tmp_path / "traces" / "rank1").write_text("0 m_usage 0.5 1000\n1 m_usage 1.00 7")
    first = (Usage(0.5, 1000.0), Usage(1.0, 2000.0))
    assert read_traces(tmp_path / "traces" / "all.txt", corrected=True) == (first, (Usage(1.0, 7.0),))
    assert not caplog.messages
    assert read_traces(tmp_path / "traces" / "all.txt") == (first, ())
    (warning,) = caplog.messages
    assert warning.startswith(f"{tmp_path / 'traces' / 'rank1'}, line 2: ")
    (tmp_path / "traces" / "rank1").write_text("1 m_usage 1.00 7\n# no line is lost here")
    profile = {"type": "TraceReplayProfile", "trace_type": "FractionalComputation", "filename": "traces/all.txt"}
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"nb_res": 1, "jobs": [], "profiles": {"d": profile}}))
    workload = read_workload(path)
    assert workload.profiles["w0!d"].traces == (first, (Usage(1.0, 7.0),))
    assert workload.profiles["w0!d"].profile == TraceReplayProfile(TraceType.FractionalComputation, "traces/all.txt")


@pytest.mark.parametrize(
    "line", ["0 compute 1 1", "0 m_usage 1", "0 m_usage 1 1 1", "x m_usage 1 1", "0 m_usage x 1", "0 m_usage nan 1",
             "0 m_usage -1 1", "0 m_usage 1 inf", "x" * 100_000],
)  # fmt: skip
def test_wrong_usage_traces_are_refused_with_their_line(tmp_path: Path, line: str) -> None:
    (tmp_path / "all").write_text("rank0\n")
    (tmp_path / "rank0").write_text(f"0 m_usage 1 1\n{line}\n")
    with pytest.raises(InputError) as caught:
        read_traces(tmp_path / "all")
    assert (caught.value.file, caught.value.line) == (str(tmp_path / "rank0"), 2)
    (tmp_path / "all").write_text("\n")
    with pytest.raises(InputError, match="empty"):
        read_traces(tmp_path / "all")


# External events


@given(simulations.external_event_lists())
def test_external_events_survive_being_written_and_read(
    tmp_path_factory: pytest.TempPathFactory, events: ExternalEventList
) -> None:
    lines = {
        int(event.id.split("!")[1]): json.dumps({"type": "generic", "timestamp": event.timestamp, "data": event.data})
        for event in events.events
    }
    path = tmp_path_factory.getbasetemp() / "events.txt"
    path.write_text("\n \n".join(lines[number] for number in range(len(lines))))
    again = read_external_events(path, corrected=True)
    assert again.events == events.events
    assert again.named("ee7").events == tuple(event._replace(id="ee7" + event.id[3:]) for event in events.events)
    assert [event.timestamp for event in again.events] == sorted(event.timestamp for event in again.events)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "not JSON"), ("5", "expected an object"), ('{"type": "generic"}', "timestamp: the key is missing"),
        ('{"type": "x", "timestamp": 1, "data": ""}', "type: 'x' is not a type"),
        ('{"type": "generic", "timestamp": -1, "data": ""}', "timestamp: expected"),
        ('{"type": "generic", "timestamp": 1, "data": {}}', "data: expected a string"),
        ('{"type": "generic", "timestamp": 1, "data": ""} {}', "text follows"),
    ],
)  # fmt: skip
def test_wrong_external_events_are_refused_with_their_line(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "events.txt"
    path.write_text('{"type": "generic", "timestamp": 1, "data": ""}\n\n' + line)
    with pytest.raises(InputError, match=message) as caught:
        read_external_events(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3)


# Numbers, and where `std::sort` of the GNU C++ library took each from.
SORTED = [
    ([2, 1, 2, 1, 2, 2, 2, 2, 0, 1, 0, 2, 0, 0, 0, 1], [8, 10, 12, 13, 14, 1, 3, 9, 15, 0, 2, 4, 5, 6, 7, 11]),
    ([1, 0, 1, 2, 0, 2, 0, 0, 2, 0, 1, 1, 0, 1, 0, 0, 0], [1, 16, 15, 14, 12, 9, 7, 6, 4, 10, 11, 13, 2, 0, 8, 5, 3]),
    (
        [3, 1, 1, 0, 0, 1, 1, 1, 1, 2, 2, 1, 1, 1, 1, 3, 2, 0, 2, 3, 1, 1, 2, 0, 2, 2, 0, 2, 0, 2, 2, 2, 3, 2, 1, 3,
         3, 1, 0, 2],
        [38, 3, 4, 28, 26, 23, 17, 1, 37, 34, 21, 20, 14, 12, 2, 5, 6, 7, 8, 13, 11, 29, 39, 33, 31, 30, 16, 27, 25,
         24, 18, 22, 9, 10, 19, 32, 15, 35, 36, 0],
    ),
]  # fmt: skip


@pytest.mark.parametrize(("numbers", "places"), SORTED)
def test_events_of_one_time_come_as_batsim_sorts_them_unless_corrected(
    tmp_path: Path, numbers: list[int], places: list[int]
) -> None:
    path = tmp_path / "events.txt"
    path.write_text("".join(f'{{"type": "generic", "timestamp": {time}, "data": ""}}\n' for time in numbers))
    events = read_external_events(path).events
    assert [event.id for event in events] == [f"ee0!{place}" for place in places]
    stable = sorted(range(len(numbers)), key=numbers.__getitem__)
    assert [event.id for event in read_external_events(path, corrected=True).events] == [
        f"ee0!{place}" for place in stable
    ]


@given(st.lists(st.integers(0, 9), max_size=200), st.integers(0, 3))
def test_the_unstable_sort_sorts(numbers: list[int], copies: int) -> None:
    numbers = numbers + sorted(numbers) * copies + sorted(numbers, reverse=True) * copies
    places = unstable_sorted(range(len(numbers)), key=numbers.__getitem__)
    assert sorted(places) == list(range(len(numbers)))
    assert [numbers[place] for place in places] == sorted(numbers)


def test_the_unstable_sort_survives_its_worst_case() -> None:
    """An adversary that decides about numbers only when they are compared makes it fall back on a heap."""
    count, decided = 300, 0
    values: list[int] = [300] * count
    candidate = 0

    class Unknown:
        def __init__(self, place: int) -> None:
            self.place = place

        def __lt__(self, other: Unknown) -> bool:
            nonlocal decided, candidate
            if values[self.place] == values[other.place] == count:
                fixed = self.place if self.place == candidate else other.place
                values[fixed] = decided
                decided += 1
            if values[self.place] == count:
                candidate = self.place
            elif values[other.place] == count:
                candidate = other.place
            return values[self.place] < values[other.place]

    unstable_sorted(range(count), key=Unknown)
    places = unstable_sorted(range(count), key=values.__getitem__)
    assert [values[place] for place in places] == sorted(values)

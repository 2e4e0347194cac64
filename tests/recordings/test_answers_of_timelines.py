"""Timelines of runs that are written by hand: what is drawn where, what tables tell, and the run in a line."""

from __future__ import annotations

import zlib
from pathlib import Path
from typing import Any, cast

import pytest

from batprotocol.errors import InputError
from batprotocol.model import FinalJobState
from batprotocol.recordings.timeline import Messages, OffDuty, Series, Timeline, TimelineData, TimelineJob
from batprotocol.recordings.timeline._figures import COLOURINGS, Colouring
from batprotocol.recordings.timeline.packing import all_series, facts, packed, size, state_number
from batprotocol.recordings.timeline.sources import read_table, read_tables
from batprotocol.recordings.timeline.timelines import kind_of

pytestmark = pytest.mark.once

DONE, FAILED, REJECTED = (
    FinalJobState.COMPLETED_SUCCESSFULLY,
    FinalJobState.COMPLETED_FAILED,
    FinalJobState.REJECTED,
)


def job(name: str, *times: float | None, hosts: tuple[tuple[int, int], ...] = (), **more: Any) -> TimelineJob:
    submitted, started, finished = times
    return TimelineJob(job_id=name, submitted=submitted, started=started, finished=finished, hosts=hosts, **more)


JOBS = [
    job("w!a", 0.0, 1.0, 5.0, hosts=((0, 1),), state=DONE, user="u", profile="p"),
    job("w!b", 1.0, 80.0, None, hosts=((0, 0), (3, 3)), user="v"),
    job("v!c", 2.0, 7.0, 9.0, hosts=((2, 2),), state=FAILED, user="u$"),
    job("d", 3.0, None, 4.0, state=REJECTED),
    job("e", None, 6.0, 6.0, hosts=((1, 1),), state=FinalJobState.COMPLETED_KILLED),
    job("f", 5.0, None, None),
]
OFF = [OffDuty(2, 3, 10.0, 20.0), OffDuty(3, 3, 20.0, 30.0, True)]
PROBE = Series("load", "probe", [1.0, 2.0, 40.0], [5.0, 7.0, 2.0], unit="W", is_step=False)


def run(name: str = "r$un", **more: Any) -> TimelineData:
    given = {"hosts": 6, "series": [PROBE], "off_duty": OFF, "end": 100.0} | more
    return TimelineData(name, JOBS, **given)


def test_series_of_a_run() -> None:
    waiting, free, probe = all_series(run())
    assert list(zip(waiting.times, waiting.values, strict=True)) == [
        *((0.0, 1.0), (2.0, 2.0), (3.0, 3.0), (4.0, 2.0), (5.0, 3.0), (7.0, 2.0), (80.0, 1.0)),
    ]
    assert list(zip(free.times, free.values, strict=True)) == [
        *((0.0, 6.0), (1.0, 4.0), (5.0, 6.0), (7.0, 5.0), (9.0, 6.0), (10.0, 4.0), (20.0, 5.0), (30.0, 6.0)),
        (80.0, 4.0),
    ]
    assert probe is PROBE
    assert (free.most, waiting.lane, free.kind) == (6, "jobs waiting", "hosts")
    own = [Series("q", "queue", [0.0], [1.0]), Series("p", "power", [0.0], [1.0]), Series("h", "hosts", [0.0], [1.0])]
    assert [each.name for each in all_series(run(series=own))] == ["q", "h", "p"]
    assert [each.kind for each in all_series(TimelineData("x", [], hosts=2, end=1.0))] == ["hosts"]
    assert all_series(TimelineData("x", [], end=1.0)) == []


def test_a_run_in_a_line() -> None:
    assert size(run()) == "6 jobs · 6 hosts · 1.67 min"
    one = job("a", 0.0, 0.0, 59.9, hosts=((0, 0),))
    assert size(TimelineData("x", [one])) == "1 job · 1 host · 59.9 s"
    for end, said in (
        *((60.0, "1 min"), (3599.0, "60 min"), (3600.0, "1 h"), (86399.0, "24 h"), (86400.0, "1 d")),
        *((99 * 86400.0, "99 d"), (100 * 86400.0, "100 d"), (1e9, "11,574 d"), (0.25, "0.25 s"), (99.5, "1.66 min")),
    ):
        assert size(TimelineData("x", [], end=end)) == f"0 jobs · {said}"
    messages = Messages(2)
    for number in range(3):
        messages.add(float(number), number % 2, "JobSubmitted", 1, ["w!a"], "text")
    messages.finish()
    assert facts(run(messages=messages)) == (
        f"{size(run())} · 3 messages, with the texts of the first 2 (--messages all keeps all)"
    )
    none, all_ = Messages(0), Messages(None)
    for each in (none, all_):
        each.add(1.0, 0, "", 0, [], "text")
        each.finish()
    assert facts(run(messages=none)) == f"{size(run())} · 1 messages, with no texts (--messages all keeps all)"
    assert facts(run(messages=all_)) == f"{size(run())} · 1 messages"
    assert facts(run(messages=Messages())) == facts(run()) == size(run())


def test_the_span_of_a_run() -> None:
    for data, span in (
        (run(), (0.0, 100.0)),
        (run(end=None), (0.0, 80.0)),
        (TimelineData("x", [], series=[Series("s", "probe", [-2.0, 5.0], [0.0, 0.0])]), (-2.0, 5.0)),
        (TimelineData("x", [job("a", 3.0, None, None)]), (0.0, 3.0)),
        (TimelineData("x", [job("a", -3.0, -2.0, -1.0)]), (-3.0, 0.0)),
        (TimelineData("x", [job("a", 3.0, 4.0, 5.0)], end=float("inf")), (0.0, 5.0)),
    ):
        assert (data.start, data.end) == span
    assert [each.job_id for each in run().jobs] == ["w!a", "e", "v!c", "w!b", "d", "f"]
    assert [each.workload for each in JOBS] == ["w", "w", "v", "", "", ""]
    assert list(map(state_number, JOBS)) == [0, 5, 1, 4, 3, 5]
    assert run(hosts=2).host_count == 4
    with pytest.raises(InputError, match="there is nothing to draw"):
        TimelineData("x", [])
    with pytest.raises(InputError, match="the times of a job are finite numbers, got nan"):
        TimelineData("x", [job("a", 0.0, float("nan"), None)])


def test_messages_by_job() -> None:
    messages = Messages(2, "hint")
    for number, jobs in enumerate((["a", "b", "a"], [], ["c"], ["b"], ["a", "x"])):
        messages.add(float(number), number % 2, "K" if number % 2 else "L", number * 30_000, jobs, f"text {number}")
    messages.finish()
    begin, found = messages.by_job(["b", "a", "nobody", "c"])
    assert (list(begin), list(found)) == ([0, 2, 4, 4, 5], [0, 3, 0, 4, 2])
    assert (messages.kind_names, list(messages.kinds)) == (["L", "K"], [0, 1, 0, 1, 0])
    assert list(messages.events) == [0, 30_000, 60_000, 65_535, 65_535]
    assert list(messages.senders) == [0, 1, 0, 1, 0]
    assert (messages.text_count, len(messages), messages.wants_text) == (2, 5, False)
    assert [zlib.decompress(block, -15) for block in messages.blocks] == [b'["text 0","text 1"]']
    many = Messages(None)
    for number in range(513):
        many.add(0.0, 0, "", 0, [], str(number))
    assert len(many.blocks) == 2
    many.finish()
    many.finish()
    assert [zlib.decompress(block, -15).count(b",") for block in many.blocks] == [255, 255, 0]


# Figures


def drawn(runs: list[TimelineData], colour: Colouring = "job") -> list[Any]:
    """The shapes, lines and texts of each axis; in the end, the legend."""
    figure = Timeline(runs).figure(colour=colour)
    found: list[Any] = []
    for axis in figure.axes:
        shapes = [
            (tuple(path.vertices[0]), tuple(path.vertices[2]))
            for each in axis.collections[:1]
            for path in each.get_paths()
            if axis.get_ylabel() == "hosts"
        ]
        lines = [(list(line.get_xdata()), list(line.get_ydata()), line.get_drawstyle()) for line in axis.lines]
        found.append((axis.get_ylabel(), axis.get_title("left"), axis.get_ylim(), axis.get_xlim(), shapes, lines))
    legend = [text.get_text() for each in figure.legends for text in each.get_texts()]
    return [*found, figure.axes[-1].get_xlabel(), [round(each, 3) for each in figure.get_size_inches()], legend]


def test_what_is_drawn() -> None:
    pytest.importorskip("matplotlib")
    hosts, waiting, free, probe, label, inches, legend = drawn([run()])
    assert hosts == (
        "hosts", "", (6.0, 0.0), (0.0, 100.0),
        [
            *(((10, 2), (20, 4)), ((20, 3), (30, 4))),
            *(((1, 0), (5, 2)), ((6, 1), (6, 2)), ((7, 2), (9, 3)), ((80, 0), (100, 1)), ((80, 3), (100, 4))),
        ],
        [],
    )  # fmt: skip
    assert waiting[:3] == ("jobs\nwaiting", "", (0.0, pytest.approx(3.15)))
    assert waiting[5][0][0] == [0.0, 2.0, 3.0, 4.0, 5.0, 7.0, 80.0, 100.0]
    assert waiting[5][0][1] == [1.0, 2.0, 3.0, 2.0, 3.0, 2.0, 1.0, 1.0]
    assert waiting[5][0][2] == "steps-post"
    assert free[:3] == ("free\nhosts", "", (0.0, pytest.approx(6.3)))
    assert probe[:3] == ("load (W)", "", (0.0, pytest.approx(7.35)))
    assert probe[5] == [([1.0, 2.0, 40.0], [5.0, 7.0, 2.0], "default")]
    assert (label, legend) == ("simulated time (s)", [])
    assert inches == [7.2, 5.45]
    two = drawn([run(), TimelineData("other", JOBS[:1], end=7200.0)])
    assert two[0][1] == r"r\$un: 6 jobs · 6 hosts · 1.67 min"
    assert two[4][1] == "other: 1 job · 2 hosts · 2 h"
    assert two[4][4] == [(pytest.approx((1 / 3600, 0)), pytest.approx((5 / 3600, 2)))]


@pytest.mark.parametrize(
    ("end", "unit"), [(599.0, "s"), (600.0, "min"), (7199.0, "min"), (7200.0, "h"), (172_799.0, "h"), (172_800.0, "d")]
)
def test_the_unit_of_time(end: float, unit: str) -> None:
    pytest.importorskip("matplotlib")
    factor = {"s": 1, "min": 60, "h": 3600, "d": 86400}[unit]
    found = drawn([run(end=end)])
    assert found[-3] == f"simulated time ({unit})"
    assert found[0][3] == pytest.approx((0.0, end / factor))
    assert found[0][4][-1] == (pytest.approx((80 / factor, 3)), pytest.approx((end / factor, 4)))


OFF_DUTY = ["#dfe3e9", "#f5e6c9"]
COLOURS = {
    "job": ("e3c445 e3c445 b279a2 5fa3d3", []),
    "state": ("59a36a b279a2 d9605a 4c78a8", ["succeeded", "failed", "killed", "rejected", "had not ended"]),
    "waiting": ("8ccfc1 8ccfc1 5fb0b7 f0d06a", ["up to 1 s", "up to 1 min", "up to 10 min"]),
    "user": ("f2a33c 4c78a8 59a36a d9605a", ["none", "u", r"u\$", "v"]),
    "profile": ("f2a33c 4c78a8 4c78a8 4c78a8", ["none", "p"]),
    "workload": ("f2a33c 4c78a8 59a36a f2a33c", ["none", "w", "v"]),
}
"""The colours of the four jobs that ran, in the order of their start; and what colours mean."""


@pytest.mark.parametrize("colour", COLOURS)
def test_colours(colour: str) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.colors import to_hex

    assert tuple(COLOURS) == COLOURINGS
    way = cast(Colouring, colour)
    axis = Timeline([run()]).figure(colour=way).axes[0]
    faces, legend = COLOURS[colour]
    hues = [f"#{face}" for face in faces.split()]
    # The last job has two intervals of hosts.
    assert [to_hex(face) for face in axis.collections[0].get_facecolors()] == [*OFF_DUTY, *hues, hues[-1]]
    assert drawn([run()], way)[-1] == legend
    with pytest.raises(InputError, match="jobs are coloured by job, state, waiting, user, profile, workload, got 'x'"):
        Timeline([run()]).figure(colour=cast(Colouring, "x"))


def test_many_words_are_others() -> None:
    pytest.importorskip("matplotlib")
    jobs = [job(f"{number}", 0.0, 1.0, 2.0, hosts=((number, number),), user=f"u{number}") for number in range(40)]
    legend = drawn([TimelineData("x", jobs)], "user")[-1]
    assert legend[:2] == ["u0", "u1"]
    assert legend[-1] == "others"
    assert len(legend) < 40


def test_many_shapes_are_a_picture() -> None:
    pytest.importorskip("matplotlib")
    for count, is_picture in ((3000, False), (3001, True)):
        jobs = [job(f"{number}", 0.0, 1.0, 2.0, hosts=((number, number),)) for number in range(count)]
        axes = Timeline([TimelineData("x", jobs)]).figure().axes
        assert bool(axes[0].collections[0].get_rasterized()) == is_picture
        assert list(axes[0].collections[0].get_linewidths()) == [0 if is_picture else 0.25]


def test_the_files_of_a_timeline(tmp_path: Path) -> None:
    kinds = {"a.html": "page", "a.PDF": "figure", "a.svg": "figure", "a.png": "figure"}
    assert {name: kind_of(name) for name in kinds} == kinds
    with pytest.raises(InputError):
        kind_of("a.txt")
    one = Timeline([run()], "t")
    assert (one + Timeline([run("b")])).title == "t"
    assert [each.name for each in (Timeline([run("b")], "") + one).runs] == ["b", "r$un"]
    assert (Timeline([run("b")], "") + one).title == "t"
    for count in (0, 5):
        with pytest.raises(InputError, match=f"a timeline has 1 to 4 runs, got {count}"):
            Timeline([run()] * count)
    assert len(Timeline([run()] * 4).runs) == 4
    one.save(tmp_path / "a.html", colour="state")
    page = (tmp_path / "a.html").read_text()
    assert "<title>t</title>" in page
    assert one.html() in one.html() + page
    assert "srcdoc=" in one._repr_html_()
    assert "height:640px" in one._repr_html_()


def test_what_is_packed() -> None:
    data = zlib.decompress(packed(run()), -15)
    length = int.from_bytes(data[:4], "little")
    header = data[4 : 4 + length].decode()
    for part in (
        '"host_count":6',
        '"start":0.0,"end":100.0,"ids":["w!a","e","v!c","w!b","d","f"]',
        '"words":{"kind":[""],"profile":["p",""],"user":["u","","u$","v"],"workload":["w","","v"]}',
        '{"name":"load","kind":"probe","unit":"W","lane":"load","step":false,"most":0.0,"hidden":false}',
        '"hidden":true}]',
        '"texts":0,"block":256,"hint":""',
        '["submitted","f64",6],["started","f64",6],["finished","f64",6],["walltime","f64",6],["requested","u32",6]',
        '["rects","u32",6],["first","u32",5],["last","u32",5],["off_first","u32",2],["off_last","u32",2]',
    ):
        assert part in header
    # All first bytes of a column, then all second ones.
    states = header.index('"state"')
    assert states > 0
    assert data[4 + length :][: 6 * 8][6 * 7 :] == bytes([0, 0x7F, 0x40, 0x3F, 0x40, 0x40])


# Tables

HEADER = "job_id,workload_name,submission_time,starting_time,finish_time,execution_time,allocated_resources"


def test_a_table(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        f"{HEADER},final_state,requested_number_of_resources,requested_time,profile,user\n"
        "1,w,0,1,5,4,0-1 3,COMPLETED_SUCCESSFULLY,3,10,p,u\n"
        "v!2,w,1.5,2,,3,4,NOT_A_STATE,-1,-1,,\n"
        "3,,2,,,,,REJECTED,4294967295,0,,\n"
        "4,w,NA,2,NA,NA,0,,4294967296,,,\n"
    )
    assert list(read_table(path)) == [
        TimelineJob(
            job_id="w!1", submitted=0.0, started=1.0, finished=5.0, hosts=((0, 1), (3, 3)), state=DONE, requested=3,
            walltime=10.0, profile="p", user="u",
        ),
        TimelineJob(job_id="w!v!2", submitted=1.5, started=2.0, finished=5.0, hosts=((4, 4),)),
        TimelineJob(job_id="3", submitted=2.0, state=REJECTED, requested=4294967295, walltime=0.0),
        TimelineJob(job_id="w!4", started=2.0, hosts=((0, 0),)),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            "job_id,submission_time,starting_time\n",
            "1: it has no column allocated_resources, which a table of jobs has",
        ),
        (f"{HEADER}\n1,w,0\n", "2: the line is cut short: it has fewer columns than the first one"),
        (f"{HEADER}\n1,w,x,,,,\n", "2: submission_time: expected a number, got 'x'"),
        (f"{HEADER}\n1,w,0,,,,\n1,w,0,,,,a\n", "3: allocated_resources: "),
        (f"{HEADER}\n1,w,0,,,,999999\n1,w,0,,,,1000000\n", "3: allocated_resources: the numbers of hosts are below"),
    ],
)
def test_what_is_wrong_with_a_table(text: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    with pytest.raises(InputError) as refused:
        list(read_table(path))
    assert f"jobs.csv:{said}" in str(refused.value)
    path.write_bytes(HEADER.encode() + b"\n\xff")
    with pytest.raises(InputError, match="it is not a table: it is not a text in UTF-8"):
        list(read_table(path))


def test_tables_beside_it(tmp_path: Path) -> None:
    (tmp_path / "out_jobs.csv").write_text(f"{HEADER}\n1,w,0,1,50,4,0\n")
    (tmp_path / "out_machine_states.csv").write_text("time,nb_idle,nb_computing,nb_sleeping\n0,3,1,2\n1,9,9,9\n")
    (tmp_path / "out_consumed_energy.csv").write_text("time,epower\n0,NA\n1,5\n,7\n2,5\n2,8\n3,9\n4,NA\n5,9\n6,2\n")
    (tmp_path / "out_pstate_changes.csv").write_text(
        "time,machine_id,new_pstate\n0,0-5,1\n5,2-3,-2\n8,2-3,13\n20,2,-1\n25,2,0\n30,4,7\n"
    )
    data = read_tables(tmp_path / "out_jobs.csv")
    assert (data.name, data.host_count, data.end) == ("out_jobs", 6, 50.0)
    (power,) = data.given
    assert (power.name, power.kind, power.unit, power.lane) == ("power", "power", "W", "power")
    assert (list(power.times), list(power.values)) == ([0.0, 2.0, 5.0], [5.0, 9.0, 2.0])
    assert data.off_duty == [
        OffDuty(2, 3, 5.0, 8.0, True),
        OffDuty(2, 2, 8.0, 20.0),
        OffDuty(2, 2, 20.0, 25.0, True),
        OffDuty(3, 3, 8.0, 50.0),
    ]
    assert read_tables(tmp_path / "out_jobs.csv", "mine").name == "mine"
    (tmp_path / "jobs.csv").write_text(f"{HEADER}\n1,w,0,1,,4,0\n")
    assert read_tables(tmp_path / "jobs.csv").name == tmp_path.name
    (tmp_path / "table.csv").write_text(f"{HEADER}\n1,w,0,1,,4,0\n")
    alone = read_tables(tmp_path / "table.csv")
    assert (alone.name, alone.host_count, alone.given, alone.off_duty, alone.end) == ("table", 1, [], [], 5.0)
    (tmp_path / "out_machine_states.csv").write_text("time,nb_idle,nb_computing\n")
    assert read_tables(tmp_path / "out_jobs.csv").host_count == 1
    (tmp_path / "jobs.csv").write_text(f"{HEADER}\n")
    with pytest.raises(InputError, match=r"jobs\.csv: there is nothing to draw: neither jobs nor messages"):
        read_tables(tmp_path / "jobs.csv")

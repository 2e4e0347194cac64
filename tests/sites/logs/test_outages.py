"""Published traces of failures: small files in their documented forms, and the events that are made of them."""

from __future__ import annotations

import gzip
import json
from datetime import datetime, timezone
from pathlib import Path

import pytest
from commands import run_here
from hypothesis import given
from hypothesis import strategies as st

from batprotocol._util.tables import LeftOut
from batprotocol.errors import InputError
from batprotocol.sites.logs.outages import Outage, outage_events, read_outages
from batprotocol.workloads.host_events import HostStates, read_host_event

WITHOUT_ENGINE = True

COLUMNS = (
    "event_id component_id node_id platform_id node_name event_type event_start_time event_stop_time event_end_reason"
)
HEADER = "# " + COLUMNS.replace(" ", "\t")
ROWS = [
    "0\t0\t7\t1\tNULL\t1\t1000\t2000\t0",
    "1\t0\t7\t1\tNULL\t0\t2000\t2600.5\t6",
    "2\t0\t8\t2\tNULL\t0\t2100\tNULL\t0",
    "3\t0\t8\t2\tNULL\t2\t2100\t2200\t0",
    "4\t0\t8\t2\tNULL\t0\tsoon\t2200\t0",
    "5\t0\t8\t2\tNULL\t0\t2200\tnan\t0",
    "6\t0\t8\t2\tNULL\t0\t2300\t2200\t0",
    "7\t0",
    "8\t0\tNULL\t2\tNULL\t0\t2300\t2400\t0",
]
EXPECTED = [Outage("7", 2000.0, 2600.5, "hard shutdown", 3), Outage("8", 2100.0, None, "", 4)]

LANL = (
    "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,fru type,mem,"
    "cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,Human Error,Network,"
    "Undetermined,Software,Same Event\n"
    "2,cluster,49,6152,80,0,0,5-Apr,5-Jun,current,part,80,1,1,0,graphics.fe,6/21/2005 10:54,6/21/2005 11:00,6,,"
    "Graphics Accel Hdwr,,,,,No\n"
    '20,cluster,256,1024,4,3,2,5-Apr,5-Jun,current,part,80,1,1,0,"compute, fe",1/9/2005 23:00,1/10/2005 01:30,150,,,,,,'
    "DST,No\n"
    "20,cluster,256,1024,4,3,2,,,,,,,,,,1/9/2005 23:00,,,,,,,,,No\n"
    "20,cluster,256,1024,4,3,2,,,,,,,,,,1/9/2005 23:00,1/9/2005 22:00,,,,,,,,No\n"
    "20,cluster,256,1024,4,3,2,,,,,,,,,,13/9/2005 23:00,1/9/2005 22:00,,,,,,,,No\n"
    "20,cluster,256,1024,4,,,,,,,,,,,,1/9/2005 23:00,1/9/2005 23:01,,,,,,,,No\n"
    '20,"\n'
)


def reasons(left_out: LeftOut) -> set[tuple[str, tuple[int, ...]]]:
    return {(each.reason, each.lines) for each in left_out}


@pytest.mark.parametrize("form", ["tabs", "spaces", "no header", "end_time", "gzip"])
def test_tables_of_the_archive(form: str, tmp_path: Path) -> None:
    path = tmp_path / "event_trace.tab"
    text = "\n".join([HEADER, *ROWS])
    if form == "spaces":
        text = text.replace("\t", "  ")
    elif form == "no header":
        text = "\n" + "\n".join(ROWS)
    elif form == "end_time":
        text = text.replace("event_stop_time", "event_end_time")
    path.write_bytes(gzip.compress(text.encode()) if form == "gzip" else text.encode())
    left_out = LeftOut()
    assert list(read_outages(path, left_out)) == EXPECTED
    assert reasons(left_out) == {
        ("its type is neither 0 (unavailable) nor 1 (available)", (5, 9)),
        ("its start is not a time", (6,)),
        ("its stop is not a time", (7,)),
        ("it does not end after it begins", (8,)),
        ("it has no node", (10,)),
    }
    assert list(read_outages(path, LeftOut(), system="1", format="fta")) == EXPECTED[:1]


def test_the_table_of_los_alamos(tmp_path: Path) -> None:
    path = tmp_path / "failures.csv"
    path.write_text(LANL)
    left_out = LeftOut()
    first, second, third = read_outages(path, left_out)
    begin = datetime(2005, 6, 21, 10, 54, tzinfo=timezone.utc).timestamp()
    assert first == Outage("2.0", begin, begin + 360, "hardware: Graphics Accel Hdwr", 2)
    assert (second.node, second.end, second.reason) == ("20.2", second.begin + 9000, "software: DST")
    assert (third.begin, third.end) == (second.begin, None)
    assert reasons(left_out) == {
        ("it does not end after it begins", (5,)),
        ("its start is not a time", (6,)),
        ("it has no node", (7,)),
        ("its quotation marks do not match", (8,)),
    }
    ours = list(read_outages(path, LeftOut(), zone="America/Denver", system="20"))
    assert [each.node for each in ours] == ["2", "2"]
    assert ours[0].begin == second.begin + 7 * 3600


@pytest.mark.parametrize(
    ("text", "format"),
    [("", None), ("something else\n", None), ("event_id node_id\n1 2\n", None), ("System,nodes\n", None),
     ("x\n", "fta"), ("x\n", "lanl"), (LANL, "fat")],
)  # fmt: skip
def test_other_files_are_refused(text: str, format: str | None, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError):
        list(read_outages(path, LeftOut(), format=format))


@given(st.binary(max_size=300), st.sampled_from(["fta", "lanl"]), st.booleans())
def test_no_bytes_raise_anything_else(
    tmp_path_factory: pytest.TempPathFactory, data: bytes, format: str, begun: bool
) -> None:
    path = tmp_path_factory.getbasetemp() / "any"
    header = {"fta": HEADER.encode() + b"\n", "lanl": LANL.encode()[:300] + b"\n"}[format]
    path.write_bytes(header + data if begun else data)
    left_out = LeftOut()
    try:
        outages = list(read_outages(path, left_out, format=format))
    except InputError:
        return
    assert outage_events(outages, 3, left_out) is not None


def test_nodes_become_hosts() -> None:
    trace = [
        Outage(name, 10.0 * number, 10.0 * number + 5, "", number) for number, name in enumerate(["n10", "n2", "x"])
    ]
    left_out = LeftOut()
    by_name = outage_events(trace, ["a", "n2", "n10"], left_out)
    assert [(time, str(event.hosts)) for time, event in by_name] == [(0, "2"), (5, "2"), (10, "1"), (15, "1")]
    assert [(each.count, each.lines) for each in left_out] == [(1, (2,))]
    by_order = outage_events(trace, 2, LeftOut())
    assert [(time, str(event.hosts)) for time, event in by_order] == [(0, "1"), (5, "1"), (10, "0"), (15, "0")]
    assert by_order == outage_events(trace, ["a", "b"], LeftOut())
    cut = outage_events(trace, 3, LeftOut(), since=12.0, until=20.0)
    assert [(time, event.state.value, str(event.hosts)) for time, event in cut] == [(0, "down", "0"), (3, "up", "0")]


seconds = st.integers(0, 40).map(float)
outages = st.lists(
    st.builds(
        lambda node, begin, length: Outage(node, begin, None if length is None else begin + length, "", 1),
        st.sampled_from("abc"),
        seconds,
        st.none() | st.integers(1, 10).map(float),
    ),
    max_size=8,
)


@given(outages, st.integers(1, 3))
def test_a_host_is_down_when_any_outage_of_its_node_lasts(trace: list[Outage], hosts: int) -> None:
    nodes = sorted({outage.node for outage in trace})[:hosts]
    events = outage_events(trace, hosts, LeftOut(), since=0.0)
    for moment in range(52):
        states = HostStates(hosts)
        for time, event in events:
            if time <= moment:
                states.take(time, event)
        expected = {
            nodes.index(each.node)
            for each in trace
            if each.node in nodes and each.begin <= moment and (each.end is None or moment < each.end)
        }
        assert set(states.down) == expected


def events_of(text: str) -> list[tuple[float, str]]:
    return [(each["timestamp"], each["data"]) for each in map(json.loads, text.splitlines())]


def test_the_events_of_a_trace(tmp_path: Path) -> None:
    trace = tmp_path / "event_trace.tab"
    trace.write_text(
        "0 0 7 1 n7 0 1000 2000 0\n1 0 8 1 n8 0 1500 1600 0\n2 0 9 1 n9 0 1500 1600 0\n3 0 9 1 n9 5 1 2 0\n"
    )
    result = run_here("workload", "outages", trace, "--hosts", "2")
    states = HostStates(2)
    for time, data in events_of(result.out):
        event = read_host_event(data)
        assert event is not None
        states.take(time, event)
    assert [time for time, _ in events_of(result.out)] == [0.0, 500.0, 600.0, 1000.0]
    assert "1 outage left out: its node has no host" in result.err
    assert "1 outage left out: its type is neither 0 (unavailable) nor 1 (available) (line 4)" in result.err
    later = run_here("workload", "outages", trace, "--hosts", "2", "--from", "1550", "-f", "fta", "--system", "1")
    assert events_of(later.out)[0][0] == 0.0


def test_a_trace_that_is_not_there() -> None:
    result = run_here("workload", "outages", "no.tab", "--hosts", "4")
    assert (result.status, result.out) == (1, "")
    assert "no.tab" in result.err
    assert "Traceback" not in result.err

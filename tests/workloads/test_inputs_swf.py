"""Files in the Standard Workload Format: what becomes of their fields, and how damaged ones are refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from batprotocol.errors import InputError
from batprotocol.model import DelayProfile
from batprotocol.workloads import Workload, read_swf, read_workload, swf

WITHOUT_ENGINE = True

HEADER = "; Computer: somewhere\n; MaxNodes: 8\n;   MaxProcs: 64\n;\n"


def line(job: int = 1, submit: float = 0, run: float = 10, given: int = 4, asked: int = -1, limit: float = -1) -> str:
    return f"{job} {submit:g} 3 {run:g} {given} -1 -1 {asked} {limit:g} -1 1 5 5 -1 1 -1 -1 -1\n"


def read(tmp_path: Path, text: str, name: str = "log.swf") -> Workload:
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    return read_swf(path)


def test_what_becomes_of_the_fields(tmp_path: Path) -> None:
    text = HEADER + line(3, 7, 10.5, 4, 6, 60) + "\n" + line(1, 7, 20, 5, -1, 0) + line(2, 1, 20, -1, 1)
    workload = read(tmp_path, text)
    assert workload.skipped == 0
    assert workload.resource_count == 64
    assert [
        (time, id, job.resource_request, job.walltime, workload.profiles[job.profile_id].profile)
        for time, id, job in workload
    ] == [
        (1.0, "w0!2", 1, None, DelayProfile(20.0)),
        (7.0, "w0!1", 5, None, DelayProfile(20.0)),
        (7.0, "w0!3", 6, 60.0, DelayProfile(10.5)),
    ]


def test_jobs_that_cannot_run_are_skipped_and_counted(tmp_path: Path) -> None:
    text = line(1, run=-1) + line(2, run=0) + line(3, given=0, asked=0) + line(4, given=-1) + line(5)
    workload = read(tmp_path, text)
    assert [id for _, id, _ in workload] == ["w0!5"]
    assert workload.skipped == workload.named("w7").skipped == 4


def test_the_size_of_the_machine_is_that_of_its_largest_job_if_the_header_does_not_tell(tmp_path: Path) -> None:
    assert read(tmp_path, line(1, given=9) + line(2, given=4)).resource_count == 9
    assert read(tmp_path, "; MaxNodes: 12\n" + line(1, given=9)).resource_count == 12
    assert read(tmp_path, "").resource_count == 1


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(1, 50), st.integers(1, 9)), max_size=20), st.booleans())
def test_compressed_or_not(
    tmp_path_factory: pytest.TempPathFactory, jobs: list[tuple[int, int, int]], compressed: bool
) -> None:
    text = HEADER + "".join(line(number, *job) for number, job in enumerate(jobs))
    path = tmp_path_factory.getbasetemp() / ("log.swf.gz" if compressed else "log.swf")
    path.write_bytes(gzip.compress(text.encode()) if compressed else text.encode())
    workload = read_workload(path, name="w3")
    expected = sorted((submit, f"w3!{number}", given) for number, (submit, _, given) in enumerate(jobs))
    assert [(time, id, job.resource_request) for time, id, job in workload] == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 2 3\n", "expected 18 fields in a job, but this line has 3"),
        (line().replace(" 10 ", " ten "), r"field 4 \(run time\): expected a number, got 'ten'"),
        (line().replace(" 10 ", " nan "), "field 4"),
        (line().replace(" 10 ", " 1e9 "), "field 4"),
        (line().replace("1 0 ", "1 0_0 ", 1), r"field 2 \(submit time\)"),
        (line().replace(" 4 ", " 4.5 "), "a whole number of processors"),
        (line().replace(" 4 ", " 99999999999 "), "a whole number of processors"),
        (line(-5), "field 1"),
        ("x" * 100_000, "bytes or more"),
    ],
)
def test_wrong_lines_are_refused_with_their_number(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, HEADER + line(7) + text)
    assert caught.value.line == 6
    assert caught.value.file.endswith("log.swf")


def test_two_jobs_of_one_number_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"log.swf:7: line 5 has the job number 1, too") as caught:
        read(tmp_path, HEADER + line(1) + line(2) + line(1))
    assert caught.value.line == 7


def burst(job: int, submit: float, wait: float, run: float, status: int) -> str:
    return f"{job} {submit:g} {wait:g} {run:g} 4 -1 -1 4 900 -1 {status} 5 5 -1 1 -1 -1 -1\n"


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("last", [3, 4])
def test_partial_executions_are_one_job(tmp_path: Path, lazy: bool, last: int) -> None:
    """As the format defines them: a line for the whole job, and one for each time between two swaps."""
    bursts = burst(1, -1, 20, 30, 2) + burst(1, -1, 5, 12.5, last)
    whole, alone = burst(1, 10, 3, 100, 1), burst(1, 10, 3, 57.5, 2)
    for text, runtime in (
        (whole + alone + bursts, 100.0),
        (alone + bursts, 100.0),
        (burst(1, 10, 3, -1, 1) + bursts, 42.5),  # the summary does not have the run time
        (whole, 100.0),
    ):
        path = tmp_path / "log.swf"
        path.write_text(HEADER + text + line(2, 11))
        workload = read_swf(path, lazy=lazy, recorded=True)
        assert [(time, id) for time, id, _ in workload] == [(10.0, "w0!1"), (11.0, "w0!2")]
        assert workload.skipped == 0
        first = workload[0].job
        assert workload.profiles[first.profile_id].profile == DelayProfile(runtime)
        assert (first.walltime, first.extra_data) == (900.0, '{"user":5,"group":5,"recorded":{"start":13.0}}')


@pytest.mark.parametrize("lazy", [False, True])
def test_many_jobs_with_partial_executions(tmp_path: Path, lazy: bool) -> None:
    text = "".join(burst(n, n, 0, n, 2) + burst(n, -1, 0, n, 3) + line(10_000 + n, n + 0.5) for n in range(1, 1000))
    path = tmp_path / "log.swf"
    path.write_text(text)
    workload = read_swf(path, lazy=lazy)
    found = [(id, workload.profiles[job.profile_id].profile) for _, id, job in workload]
    assert found[::2] == [(f"w0!{n}", DelayProfile(2.0 * n)) for n in range(1, 1000)]


def test_partial_executions_that_do_not_follow_one_another_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="line 1 has the job number 1, too"):
        read(tmp_path, burst(1, 0, 0, 5, 2) + line(2) + burst(1, -1, 0, 5, 3))


@pytest.mark.parametrize(
    ("text", "size"),
    [
        *(("1,152", 1152), ("1'152", 1152), ("1.152", 1152), ("12,345,678", 12_345_678), ("1152", 1152)),
        *(("1152 (36 nodes of 32)", 1152), ("128 x 2", 128), ("0001152", 1152)),
        *(
            ("1,15", 4),
            ("1,152,3", 4),
            ("1,152.304", 4),
            ("12345678901", 4),
            ("many", 4),
        ),  # no numbers: the largest job
    ],
)
def test_numbers_of_the_header_may_have_separators(tmp_path: Path, text: str, size: int) -> None:
    for name in ("MaxProcs", "MaxNodes"):
        assert read(tmp_path, f";  {name}: {text}\n" + line(1)).resource_count == size


@pytest.mark.parametrize("lazy", [False, True])
def test_equal_lines_are_refused_long_before_the_end_of_the_file(tmp_path: Path, lazy: bool) -> None:
    """The last line is no job, which nobody gets to see."""
    path = tmp_path / "log.swf"
    path.write_text(HEADER + 5000 * line(1) + "x\n")
    with pytest.raises(InputError, match="line 5 has the job number 1, too") as caught:
        read_swf(path, lazy=lazy)
    assert caught.value.line == 6


@pytest.mark.parametrize("cut", [3, 11, 40, 200, 300])
def test_damaged_files_are_refused(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "log.swf.gz"
    whole = gzip.compress("".join(line(number) for number in range(1000)).encode())
    for data in (whole[:cut], whole[:cut] + b"\xff\xff\xff" + whole[cut + 3 :]):
        path.write_bytes(data)
        with pytest.raises(InputError):
            read_swf(path)


@given(st.binary(max_size=200))
def test_no_bytes_get_anything_but_an_input_error_out_of_the_reader(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "hostile.swf"
    for content in (data, line().encode() + data, b"\x1f\x8b" + data, gzip.compress(data)):
        path.write_bytes(content)
        try:
            read_swf(path)
        except InputError as error:
            assert error.file == str(path)  # noqa: PT017


NUMBERS = st.sampled_from(
    ["-1", "0", "1", "2", "3", "4", "7", "12", "-10", "007", "1.5", "2.50", "0.1", "1.", "-0", "3600.000001", "9" * 15]
)
ODD = st.sampled_from(["", "x", "1e3", "+1", ".5", "-", "9" * 16, "1.2.3", "\xa0", "nan", "--1", "123456789.123456789"])
SMALL = st.integers(-1, 40).map(str)


@st.composite
def lines(draw: st.DrawFn) -> str:
    """A line of a log: mostly a plain job, and sometimes another line."""
    kind = draw(st.integers(0, 30))
    if kind == 0:
        return draw(st.sampled_from(["", " ", "; MaxProcs: 77", ";MaxNodes: 1,024", " ; MaxProcs: 9", ";", "1 2 3"]))
    words = [draw(SMALL if draw(st.integers(0, 3)) else NUMBERS) for _ in range(18)]
    words[10] = draw(st.sampled_from(["-1", "0", "1", "1", "1", "1", "5"] if kind > 2 else ["2", "3", "4", "1"]))
    if kind == 1:
        words[draw(st.integers(0, 17))] = draw(ODD)
    elif kind == 2:
        words = words[: draw(st.integers(7, 18))] + ["1"] * draw(st.integers(0, 1))
    return draw(st.sampled_from(["", " ", "\t"])) + draw(st.sampled_from([" ", "  ", "\t"])).join(words)


def outcome(path: Path, larger: bool, limits: bool) -> tuple[object, ...]:
    """All that a reader makes of a log, or its error."""
    try:
        found = read_swf(path, larger=larger, runtime_limits=limits)
    except InputError as error:
        return (str(error),)
    profiles = list(found.profiles.items())
    remarks = found.skipped, found.dependent, found.resource_count, found.declared, list(found.uses), found.texts
    return [repr(found.record(number)) for number in range(len(found))], profiles, repr(remarks)


@pytest.mark.skipif(swf._swf is None, reason="logs are read in Python alone here")
@given(
    st.lists(lines(), max_size=30),
    st.booleans(),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.sampled_from([1, 40, 1 << 20]),
)
def test_c_reads_logs_as_python_does(
    tmp_path_factory: pytest.TempPathFactory,
    rows: list[str],
    numbered: bool,
    flags: tuple[bool, bool, bool],
    block: int,
) -> None:
    if numbered:
        rows = [" ".join([f"{place}", *row.split()[1:]]) if row[:1] != ";" else row for place, row in enumerate(rows)]
    text = "\n".join(rows).encode("latin-1")
    path = tmp_path_factory.mktemp("logs") / "log.swf"
    path.write_bytes(gzip.compress(text) if flags[2] else text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swf, "_BLOCK", block)
        native = outcome(path, *flags[:2])
        patch.setattr(swf, "_swf", None)
        assert native == outcome(path, *flags[:2])


@pytest.mark.skipif(swf._swf is None, reason="logs are read in Python alone here")
def test_c_reads_plain_logs_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "log.swf").write_text(HEADER + "".join(line(number, number, 10.5) for number in range(1, 3000)))
    monkeypatch.setattr(swf, "_job", None)  # which Python needs for each line
    assert len(read_swf(tmp_path / "log.swf")) == 2999

"""`batproto grid` as its users meet it."""

from __future__ import annotations

import json
import re
import signal
import subprocess
from pathlib import Path

import pytest
from clusters import PaperCluster
from commands import ENVIRONMENT, PROGRAM, run, run_here

from batprotocol.campaigns.loop import Loop
from batprotocol.campaigns.model import Campaign, ClusterProperties, GridSettings
from batprotocol.campaigns.store import ClusterEntry, GridStore

WITHOUT_ENGINE = True


@pytest.fixture
def grid(tmp_path: Path) -> tuple[str | Path, ...]:
    """The command for a store in which one cluster is known."""
    command = ("grid", "--store", tmp_path / "grid.db", "--user", "alice")
    done = run_here(*command, "clusters", "--add", "here", "--local", tmp_path / "here", "--resources", "2")
    assert done == (0, "", "")
    return command


def jdl(tmp_path: Path, command: str, tasks: int = 3) -> str:
    says = {"exec_file": command, "exec_directory": str(tmp_path)}
    return json.dumps({"name": "short", "nb_jobs": tasks, "clusters": {"here": says}})


def test_a_campaign_from_its_submission_to_its_end(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    done = run_here(*grid, "sub", "-j", jdl(tmp_path, "echo >> runs"))
    assert done == (0, "Campaign successfully submitted\nCAMPAIGN_ID=1\n", "")
    assert "R  0/3 (0%)" in run_here(*grid, "stat").out
    done = run_here(*grid, "run", "--until-done", "--cycle", "0.1", "--json", "--no-finalize")
    assert done.status == 0
    cycles = [json.loads(line) for line in done.out.splitlines()]
    assert cycles[-1]["ended"] == [1] or cycles[-1]["campaigns"] == []
    assert sorted((tmp_path / "runs").read_text().split()) == ["0", "1", "2"]
    assert "T  3/3 (100%)" in run_here(*grid, "stat", "-a").out
    report = run_here(*grid, "stat", "-c", "1", "-f").out
    assert "  Progress: 3/3 (100%)" in report
    assert "terminated,here,2,2" in report
    assert "cluster_name: here" in run_here(*grid, "stat", "-j", "1").out
    assert run_here(*grid, "stat", "-c", "1", "--csv").out.splitlines()[1].startswith('"1","Terminated","here"')
    assert json.loads(run_here(*grid, "stat", "-c", "1", "--json").out)["terminated"] == 3
    assert json.loads(run_here(*grid, "stat", "-a", "-d").out)["items"][0]["finished_jobs"] == 3
    assert json.loads(run_here(*grid, "stat", "-c", "1", "-J").out)["name"] == "short"
    usage = run_here(*grid, "clusters", "-u").out
    assert re.fullmatch(r"here: 0/2 used, 2 free \([0-9]+ seconds? ago\)\n", usage)


def test_what_fails_is_told_and_fixed(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    fails = "test -e fixed || { echo what; printf 'why\\033[31m' >&2; exit 3; }; true"
    run_here(*grid, "sub", "-j", jdl(tmp_path, fails, tasks=1))
    done = run_here(*grid, "run", "--until-done", "--cycle", "0.1", "--no-finalize")
    ways = "batproto grid events -c 1 and batproto grid output -c 1 show why"
    assert (done.status, done.err) == (1, f"batproto: grid: campaign 1: 1 task did not end well: {ways}\n")
    told = run_here(*grid, "events", "-c", "1").out
    assert "1: (open) EXIT_ERROR of job 1" in told
    assert "The job exited with exit status 768, which is exit code 3;" in told
    shown = "job 1 on here: exit code 3\nstandard output:\nwhat\nstandard error:\nwhy\\x1b[31m\n"
    assert run_here(*grid, "output", "-c", "1").out == shown
    assert run_here(*grid, "output", "-j", "1", "-O").out == "what\n"
    assert run_here(*grid, "output", "-j", "1", "-E").out == "why\\x1b[31m\n"
    assert json.loads(run_here(*grid, "output", "-j", "1", "--json").out)["stdout"] == "what\n"
    assert "2: (open) BLACKLIST" in told
    assert "Te 0/1 (0%)" in run_here(*grid, "stat", "-a").out
    (tmp_path / "fixed").touch()
    assert run_here(*grid, "events", "-c", "1", "-f", "-r", "-v").out == "Campaign 1 events closed.\n"
    assert run_here(*grid, "run", "--until-done", "--cycle", "0.1").status == 0
    assert "T  1/1 (100%)" in run_here(*grid, "stat", "-a").out
    assert run_here(*grid, "events", "-c", "1").out == "No events!\n"
    assert (
        "there is no output of job 2: only that of jobs that do not end well is kept"
        in run_here(*grid, "output", "-j", "2").err
    )
    assert run_here(*grid, "output", "-j", "9").err == "batproto: grid: Job 9 not found!\n"


def test_the_output_of_tasks_that_run_again_is_left_out(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    run_here(*grid, "sub", "-j", jdl(tmp_path, "mkdir again && { echo once; exit 66; }; true", tasks=1))
    assert run_here(*grid, "run", "--until-done", "--cycle", "0.1", "--no-finalize").status == 0
    left = "left out: the output of 1 job that was killed or runs again without you; --all prints it"
    assert run_here(*grid, "output", "-c", "1") == (0, "", f"batproto: grid: {left}\n")
    assert run_here(*grid, "output", "-c", "1", "--json") == (0, "", f"batproto: grid: {left}\n")
    shown = "job 1 on here: exit code 66\nstandard output:\nonce\nstandard error: nothing\n"
    assert run_here(*grid, "output", "-c", "1", "--all") == (0, shown, "")
    assert run_here(*grid, "output", "-j", "1") == (0, shown, "")


@pytest.mark.slow
def test_a_run_tells_for_whom_campaigns_wait(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    """It counts what it ran, and ends if that is wanted."""
    run_here(*grid, "sub", "-j", jdl(tmp_path, "true", tasks=330))
    run_here(*grid, "del", "-c", "1")
    run_here(*grid, "sub", "-j", jdl(tmp_path, "exit 3;", tasks=4))
    run_here(*grid, "sub", "-j", jdl(tmp_path, "true"))
    run_here(*grid, "del", "-c", "3", "-p")
    done = run_here(*grid, "run", "--until-stuck", "--cycle", "0.1", "--no-finalize")
    assert done.status == 1
    assert "campaign 2 waits for alice: its jobs failed on here: batproto grid events -c 2" in done.err
    assert "campaign 3 waits for alice, who has paused it: batproto grid del -c 3 -r resumes it\n" in done.err
    assert re.search(r"campaign 2: [12] tasks? did not end well", done.err)
    assert "330" not in done.err
    run_here(*grid, "del", "-c", "2")
    run_here(*grid, "clusters", "--disable", "here")
    run_here(*grid, "del", "-c", "3", "-r")
    done = run_here(*grid, "run", "--until-stuck", "--cycle", "0.1")
    waits = "campaign 3 waits for here, disabled: batproto grid clusters --enable here"
    assert (done.status, done.err) == (1, f"batproto: grid: {waits}\n")
    run_here(*grid, "clusters", "--enable", "here")
    assert run_here(*grid, "run", "--until-stuck", "--cycle", "0.1", "--no-finalize") == (0, "", "")


@pytest.mark.slow
def test_a_cluster_that_cannot_be_reached_is_no_hindrance(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    run_here(*grid, "clusters", "--add", "far", "--dask", "tcp://127.0.0.1:9")
    says = {"exec_file": "echo >> runs; true", "exec_directory": str(tmp_path)}
    both = {"name": "n", "nb_jobs": 3, "clusters": {"far": says, "here": says}}
    run_here(*grid, "sub", "-j", json.dumps(both))
    done = run_here(*grid, "run", "--until-done", "--cycle", "0.1", "--no-finalize")
    assert done.status == 0
    assert len((tmp_path / "runs").read_text().split("\n")) == 4


@pytest.mark.slow
def test_copies_are_told_of(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    run_here(
        *grid,
        "sub",
        "-j",
        jdl(tmp_path, "until mkdir a || mkdir b; do sleep 0.01; done; test -e b || sleep 60; true", 1),
    )
    done = run_here(*grid, "run", "--until-done", "--cycle", "0.1")
    copied = "campaign 1: its last tasks are copied, so their commands run twice"
    assert (done.status, done.err.count(copied)) == (0, 1)
    assert "failures_rate: 0.0 %" in run_here(*grid, "stat", "-c", "1").out


def test_what_was_wiped_has_not_failed(tmp_path: Path) -> None:
    store, cluster = GridStore(str(tmp_path / "grid.db")), PaperCluster("here", 1)
    store.register(ClusterEntry(name="here"))
    says = (ClusterProperties(cluster="here", exec_file="x"),)
    store.submit(Campaign(user="alice", name="n", clusters=says), ["0", "1", "2"], now=0.0)
    loop = Loop(store, [cluster], GridSettings(regulator="rate", flood_rate=0.0, finalize=False), lambda: cluster.time)
    for _ in range(3):
        loop.cycle()  # of three that are submitted one runs, and the others must not wait
        cluster.pass_time(100.0)
    counts = store.event_counts(1)
    store.close()
    assert counts["FRAG"] >= 2
    report = run_here("grid", "--store", tmp_path / "grid.db", "stat", "-c", "1").out
    assert "failures_rate: 0.0 %" in report


def test_names_are_printed_safely(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    evil = {"name": "a\x1b[2J\nb", "params": ["t\x1b[31m x"], "clusters": {"here": {"exec_file": "true"}}}
    run_here(*grid[:-1], "\x1b]0;", "sub", "-j", json.dumps(evil), "-d")
    for words in ((), ("-c", "1", "-f"), ("-s", "1"), ("-c", "1", "-J"), ("-c", "1", "-d")):
        printed = run_here(*grid, "stat", *words).out
        assert "\x1b" not in printed
        assert "\\x1b" in printed or "\\u001b" in printed, words


def test_a_store_is_its_owners(tmp_path: Path, grid: tuple[str | Path, ...]) -> None:
    assert (tmp_path / "grid.db").stat().st_mode & 0o777 == 0o600
    (tmp_path / "grid.db").chmod(0o660)
    run_here(*grid, "stat")
    assert (tmp_path / "grid.db").stat().st_mode & 0o777 == 0o660


def test_keys_that_do_nothing_are_told(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    here = {"exec_file": "true", "walltme": "1", "type": "nightly"}
    says = {"name": "n", "nb_jobs": 1, "project": "p", "temporal_grouping": "true", "clusters": {"here": here}}
    done = run_here(*grid, "sub", "-j", json.dumps(says))
    assert done.status == 0
    assert done.err.splitlines() == [
        "batproto: jdl: walltme is ignored: the key is unknown; did you mean walltime?",
        "batproto: jdl: project has no effect: the clusters have no accounting",
        "batproto: jdl: clusters.here.type: 'nightly' counts as best-effort: write best-effort or normal",
    ]
    done = run_here(*grid, "sub", "-j", json.dumps({**says, "nb_jobs": -3}))
    assert (done.status, done.err) == (1, "batproto: jdl: nb_jobs: expected a number of tasks, 0 or more, found -3\n")


def test_pause_resume_and_cancel(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    run_here(*grid, "sub", "-j", jdl(tmp_path, "true"))
    assert run_here(*grid, "del", "-c", "1", "-p", "-v").out == "Campaign 1 paused.\n"
    assert "P  0/3 (0%)" in run_here(*grid, "stat").out
    assert run_here(*grid, "del", "-c", "1", "-r", "-v").out == "Campaign 1 resumed.\n"
    foreign = (*grid[:-1], "bob", "del", "-c", "1")
    assert "user 'bob' is not the owner of campaign 1" in run_here(*foreign).err
    assert run_here(*grid, "del", "-c", "1", "-v").out == "Campaign 1 cancelled.\n"
    again = run_here(*grid, "del", "-c", "1")
    assert (again.status, again.err) == (
        1,
        "batproto: failed to cancel campaign 1: campaign 1 is already cancelled\n",
    )
    assert run_here(*grid, "del", "-c", "1", "--purge", "-v").out == "Campaign 1 purged.\n"
    assert run_here(*grid, "stat", "-c", "1").err == "batproto: grid: Campaign 1 not found!\n"


def test_tasks_are_added_and_rules_refuse(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    run_here(*grid, "sub", "-j", jdl(tmp_path, "true"))
    assert run_here(*grid, "sub", "-c", "1", "-J", '["more 1", "more2"]').status == 0
    assert "0/5" in run_here(*grid, "stat").out
    assert "a new task has the name of an existing one" in run_here(*grid, "sub", "-c", "1", "-J", '["more"]').err
    (tmp_path / "rules.py").write_text("def never(jdl, user):\n    raise ValueError(f'not for {user}')\n")
    done = run_here(*grid, "sub", "--rules", tmp_path / "rules.py", "-j", jdl(tmp_path, "true"))
    assert (done.status, done.out) == (1, "")
    assert "the admission rule never refuses it: not for alice" in done.err


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("sub",), "give one of -f, -j and -c"),
        (("sub", "-c", "1"), "-c and -J go together"),
        (("stat", "-f"), "--full needs a campaign: give -c, too"),
        (("del",), "give -c, or -j without -p, -r and --purge"),
        (("events",), "give one of -c, -e and -g"),
        (("output",), "give one of -c and -j"),
        (("clusters", "--add", "x"), "give --add with one of --local, --dask and --file"),
        (("run", "--cycle", "0"), "expected a number of seconds > 0, got 0.0"),
    ],
)
def test_wrong_words(grid: tuple[str | Path, ...], words: tuple[str, ...], sentence: str) -> None:
    done = run_here(*grid, *words)
    assert (done.status, done.out) == (2, "")
    assert sentence in done.err


NO_TEXT = "x\udcff"
"""An argument of the bytes `x` and 255, as Python has it."""


@pytest.mark.parametrize(
    "words",
    [
        ("--user", NO_TEXT, "stat"),
        ("--store", NO_TEXT, "stat"),
        ("sub", "-j", jdl(Path(), NO_TEXT).replace("\\udcff", "\udcff")),
        ("sub", "-c", "1", "-J", f'["{NO_TEXT}"]'),
        ("stat", "-u", NO_TEXT),
        ("stat", "-s", NO_TEXT),
        ("clusters", "--add", NO_TEXT, "--local", "x", "--resources", "1"),
        ("clusters", "--add", "a", "--local", NO_TEXT, "--resources", "1"),
        ("clusters", "--add", "a", "--dask", NO_TEXT),
        ("clusters", "--disable", NO_TEXT),
        ("clusters", "--prefer", NO_TEXT, "here", "1"),
    ],
)
def test_arguments_that_are_no_text(grid: tuple[str | Path, ...], words: tuple[str, ...]) -> None:
    before = [word for word in grid if str(word) == "grid"] if words[0] in ("--user", "--store") else grid
    done = run_here(*before, *words)
    assert done.status == 2
    assert "expected UTF-8, got" in done.err


@pytest.mark.parametrize("text", ['{"name": "n", "nb_jobs": 1}\n', "DEFAULT{ name = n ; }\n"])
def test_files_that_are_no_text_are_told_with_the_line(grid: tuple[str | Path, ...], tmp_path: Path, text: str) -> None:
    bad = tmp_path / "bad"
    bad.write_bytes(text.encode() + b"\xff\n")
    expected = f"batproto: {bad}:2: expected UTF-8, found the byte 0xff\n"
    assert run_here(*grid, "sub", "-f", bad) == (1, "", expected)
    assert run_here(*grid, "sub", "--rules", bad, "-j", jdl(tmp_path, "true")) == (1, "", expected)
    assert run_here("grid", "simulate", bad) == (1, "", expected)
    says = {"name": "n", "param_file": str(bad), "clusters": {"here": {"exec_file": "true"}}}
    done = run_here(*grid, "sub", "-j", json.dumps(says))
    assert (done.status, done.err) == (1, f"batproto: jdl: {bad}:2: expected UTF-8, found the byte 0xff\n")
    assert run_here(*grid, "stat", "-a").out.count("\n") == 2


def test_a_file_may_be_called_anything(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    odd = tmp_path / NO_TEXT
    odd.write_text(jdl(tmp_path, "true"))
    assert run_here(*grid, "sub", "-f", odd).status == 0


def test_nothing_to_run_on(tmp_path: Path) -> None:
    done = run_here("grid", "--store", tmp_path / "grid.db", "run")
    assert done.status == 1
    assert done.err.endswith("no cluster is known: add one by batproto grid clusters --add\n")
    done = run_here("grid", "--store", tmp_path / "grid.db", "sub", "-j", '{"name": "n"}')
    assert done.status == 1
    assert "no cluster is known yet" in done.err


@pytest.mark.slow
@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupt_leaves_everything_resumable(
    grid: tuple[str | Path, ...], tmp_path: Path, number: signal.Signals, status: int
) -> None:
    run_here(*grid, "sub", "-j", jdl(tmp_path, "until test -e go; do sleep 0.01; done; echo >> runs", tasks=6))
    words = [*PROGRAM, *map(str, grid), "run", "--cycle", "0.1", "-v", "--no-finalize"]  # no copies of the last tasks
    loop = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    assert loop.stdout is not None
    while "2 jobs run" not in loop.stdout.readline():
        assert loop.poll() is None
    loop.send_signal(number)
    _, errors = loop.communicate(timeout=60)
    assert loop.returncode == status
    assert errors == "batproto: grid: stopped; the jobs on clusters go on, and the next run continues\n"
    (tmp_path / "go").touch()
    assert run_here(*grid, "run", "--until-done", "--cycle", "0.1", "--no-finalize").status == 0
    assert sorted((tmp_path / "runs").read_text().split()) == list("012345")
    store = GridStore(str(grid[2]))
    assert len(store.jobs(1)) == 6
    store.close()


@pytest.mark.slow
def test_simulate_takes_a_plan_tells_and_draws(tmp_path: Path) -> None:
    plan = {
        "clusters": {"a": 2, "b": 3},
        "campaigns": [{"jdl": {"name": "n", "params": ["x d=5", "y"], "clusters": {"a": {"exec_file": "x"}}}}],
    }
    (tmp_path / "plan.json").write_text(json.dumps(plan))
    done = run_here("grid", "simulate", tmp_path / "plan.json", "--json", "--no-finalize")
    assert done.status == 0
    assert json.loads(done.out)["campaigns"][0]["terminated"] == 2
    done = run_here("grid", "simulate", tmp_path / "plan.json", "-o", tmp_path / "report")
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("hosts: 5 in 2 clusters\ntasks: 2 (2 ended well)\nthe campaign's own time: ")
    assert "before it" not in done.out
    assert (tmp_path / "report" / "grid.png").read_bytes().startswith(b"\x89PNG")
    assert b"<svg" in (tmp_path / "report" / "grid.svg").read_bytes()
    report = json.loads((tmp_path / "report" / "report.json").read_text())
    assert [cluster["name"] for cluster in report["clusters"]] == ["a", "b"]
    (tmp_path / "plan.json").write_text('{"clusters": {"a": "x"}}')
    assert run_here("grid", "simulate", tmp_path / "plan.json").status == 1


@pytest.mark.slow
def test_the_scheduler_runs_as_any_other(tmp_path: Path) -> None:
    plan = {
        "clusters": {"a": 16, "b": "16-31"},
        "campaigns": [
            {"jdl": {"name": "n", "nb_jobs": 20, "clusters": {"a": {"exec_file": "x"}, "b": {"exec_file": "x"}}}}
        ],
    }
    (tmp_path / "grid.py").write_text("from batprotocol.campaigns.simulation import GridScheduler\n")
    done = run("simulate", f"{tmp_path / 'grid.py'}:GridScheduler", "--init", json.dumps(plan))
    assert (done.status, done.err) == (0, "")
    assert re.search(r"jobs +2[5-9][0-9] ", done.out)  # 250 of the example, and those of the campaign


def test_a_cluster_that_a_file_describes(tmp_path: Path) -> None:
    command = ("grid", "--store", tmp_path / "grid.db")
    (tmp_path / "site.toml").write_text('type = "slurm"\nfolder = "~/jobs"\npartion = "idle"\n')
    done = run_here(*command, "clusters", "--add", "site", "--file", tmp_path / "site.toml")
    assert done.status == 1
    assert "site.toml: there is no key 'partion'; did you mean 'partition'?" in done.err
    (tmp_path / "site.toml").write_text('type = "slurm"\nfolder = "~/jobs"\npartition = "idle"\n')
    assert run_here(*command, "clusters", "--add", "site", "--file", tmp_path / "site.toml") == (0, "", "")
    assert f"address: {tmp_path}/site.toml" in run_here(*command, "clusters", "-I").out
    done = run_here(*command, "clusters", "--add", "site", "--file", tmp_path / "site.toml", "--dask", "tcp://x")
    assert (done.status, "give --add with one of --local, --dask and --file" in done.err) == (2, True)


def test_the_types_of_clusters(tmp_path: Path) -> None:
    done = run_here("grid", "--store", tmp_path / "none.db", "clusters", "--types")
    assert done.status == 0
    assert "slurm (--file FILE.toml)\n  resource: a core" in done.out
    assert done.out.count("  cannot:   ") >= 3
    assert not (tmp_path / "none.db").exists()


def test_a_campaign_is_simulated_before_it_is_run(grid: tuple[str | Path, ...], tmp_path: Path) -> None:
    (tmp_path / "campaign.json").write_text(jdl(tmp_path, "x", tasks=8))
    done = run_here(*grid, "simulate", "--campaign", tmp_path / "campaign.json", "--seconds", "30", "--load", "0")
    assert done.status == 0
    assert "hosts: 2 in one cluster\ntasks: 8 (8 ended well)\n" in done.out
    (seconds,) = re.findall(r"the campaign's own time: ([0-9]+) s", done.out)
    assert 4 * 30 <= int(seconds) <= 4 * (30 + 5) + 5  # a cycle takes 5 s
    (tmp_path / "tasks").write_text("a d=10\nb d=10\n")
    text = json.dumps({"name": "n", "param_file": str(tmp_path / "tasks"), "clusters": {"here": {"exec_file": "x"}}})
    (tmp_path / "campaign.json").write_text(text)
    done = run_here(*grid, "simulate", "--campaign", tmp_path / "campaign.json", "--load", "0.5")
    assert "tasks: 2 (2 ended well)" in done.out
    done = run_here(*grid, "simulate", tmp_path / "plan.json", "--campaign", tmp_path / "campaign.json")
    assert (done.status, "give one of PLAN.json and --campaign" in done.err) == (2, True)

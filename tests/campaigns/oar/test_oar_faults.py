"""Answers of OAR's REST API that are lost or wrong: a sentence and a retry, and nothing runs twice."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from oar_jobs import described, ends, requests_of, until, why
from oar_server import OarServer
from patience import jobs_of

from batprotocol.campaigns.managers import _oar_api, oar
from batprotocol.campaigns.managers._oar_api import OarAnswer, OarJob, submission
from batprotocol.campaigns.managers.oar import OarCluster
from batprotocol.campaigns.model import GridJobState
from batprotocol.errors import ClusterError

WITHOUT_ENGINE = True


@pytest.mark.parametrize("fault", ["lost", "late 500", "cut", "half"])
@pytest.mark.parametrize("number", [1, 3])
def test_a_submission_without_an_answer_runs_once(
    server: OarServer, cluster: OarCluster, description: Path, fault: str, number: int
) -> None:
    jobs = requests_of(*["true"] * number)
    server.faults.append(("POST jobs$", fault))
    with pytest.raises(ClusterError):
        cluster.submit(jobs)
    cluster.submit(jobs)  # it may be there: nothing happens
    again = OarCluster("luke", str(description), "cigri-1")
    again.submit(jobs)
    assert [job.exit_code for job in ends(again).values()] == [0] * number
    assert list(server.starts.values()) == [1] * number
    assert len(server.jobs) == number


def test_a_submission_that_arrives_too_late_never_runs(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(oar, "LOST_SECONDS", -60.0)
    server.faults.append(("POST jobs$", "500"))
    with pytest.raises(ClusterError):
        cluster.submit(requests_of("true"))
    assert why(ends(cluster)[1]) == ["EXTERMINATE"]
    with server.lock:
        server.submit(submission(requests_of("true"), "cigri-1"), "alice")
    cluster.look()
    until(lambda: server.jobs[1].state == "Error")
    assert why(jobs_of(cluster)[1]) == ["EXTERMINATE"]
    assert server.starts == {}


def test_a_job_is_killed_before_its_submission_is_answered(server: OarServer, cluster: OarCluster) -> None:
    server.faults.append(("POST jobs$", "lost"))
    with pytest.raises(ClusterError):
        cluster.submit(requests_of("true", "true"))
    cluster.kill([1])
    found = ends(cluster)
    assert why(found[1]) == ["FRAG_JOB_REQUEST"]
    assert found[2].exit_code == 0
    assert server.starts == {": cigri-1.2": 1}


@pytest.mark.parametrize("fault", ["500", "html", "half", "cut", "redirect", "huge", "hung up", "denied"])
@pytest.mark.parametrize("path", ["GET jobs/details", "GET resources/full"])
def test_a_bad_answer_is_a_sentence_and_a_retry(server: OarServer, cluster: OarCluster, fault: str, path: str) -> None:
    cluster.submit(requests_of("true"))
    server.faults.append((path, fault))
    with pytest.raises(ClusterError) as caught:
        cluster.look()
    assert caught.value.cluster == "luke"
    assert "127.0.0.1" in caught.value.reason
    assert "\n" not in caught.value.reason
    assert len(caught.value.reason) < 600
    assert ends(cluster)[1].exit_code == 0


def test_an_answer_that_is_too_great(cluster: OarCluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_oar_api, "MOST_BYTES", 1000)
    with pytest.raises(ClusterError, match="more than 1000 bytes"):
        cluster.look()


def test_nobody_answers(cluster: OarCluster, server: OarServer, description: Path) -> None:
    described(description, url="http://127.0.0.1:1/oarapi", user="alice")
    with pytest.raises(ClusterError, match=r"127\.0\.0\.1 does not answer"):
        OarCluster("luke", str(description), "cigri-1").look()


def test_a_job_that_is_gone_is_lost_when_that_stays_so(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster.submit(requests_of("exit 2"))
    until(lambda: server.jobs[1].state == "Terminated")
    for _ in range(5):
        server.faults.append(("GET jobs/details$", "nothing"))
    for _ in range(2):
        server.faults.append(("GET jobs/details$", "nothing"))
        cluster.look()
    with server.lock:
        gone = server.jobs.pop(1)
        server.faults.clear()
    for _ in range(4):
        assert jobs_of(cluster)[1].state is not GridJobState.TERMINATED
    monkeypatch.setattr(oar, "LOST_SECONDS", 0.0)
    assert why(ends(cluster)[1]) == ["EXTERMINATE"]
    assert gone.exit_code == 512


def test_media_that_are_missing_leave_the_output_empty(server: OarServer, cluster: OarCluster) -> None:
    server.faults += [("GET media", "500"), ("GET media", "cut")]
    cluster.submit(requests_of("echo x; echo y >&2; exit 1"))
    found = ends(cluster)[1]
    assert (found.exit_code, found.output, found.errors) == (256, "", "")


@pytest.mark.parametrize(("fault", "page"), [("html", True), ("half", False)])
def test_a_page_for_people_is_named(server: OarServer, cluster: OarCluster, fault: str, page: bool) -> None:
    server.faults.append(("GET resources/full", fault))
    with pytest.raises(ClusterError) as caught:
        cluster.look()
    assert ("is answered with a page for people: " in caught.value.reason) == page


@pytest.mark.parametrize(
    ("later", "lost"), [(0.0, False), (0.5, False), (99.5, False), (100.0, False), (100.5, True), (-0.5, True)]
)
def test_how_long_a_submission_is_looked_for(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch, later: float, lost: bool
) -> None:
    """If the clock was set back, nobody knows for how long it was."""
    now = 1_000_000.0
    monkeypatch.setattr(oar.time, "time", lambda: now)
    monkeypatch.setattr(OarCluster, "_patience", 100.0)
    server.faults.append(("POST jobs$", "500"))
    with pytest.raises(ClusterError):
        cluster.submit(requests_of("true"))
    now += later
    assert why(jobs_of(cluster)[1]) == (["EXTERMINATE"] if lost else [])


def test_the_patience_of_a_cluster(tmp_path: Path, server: OarServer) -> None:
    path = described(tmp_path / "slow.toml", url=server.url, user="alice", timeout=7.0)
    assert OarCluster("luke", path, "m")._patience == oar.LOST_SECONDS + 7.0


def test_of_several_copies_the_one_that_is_written_down_is_resumed(
    cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    resumed, deleted = [], []
    monkeypatch.setattr(cluster, "_resume", lambda held: resumed.extend(job.id for job in held))
    monkeypatch.setattr(cluster, "_delete", lambda method, path: deleted.append((method, path)))
    cluster._known.ids.update({1: 12, 2: 22, 3: 32})
    cluster._known.doomed.add(3)
    copies = {1: ("Running", "Hold", "Hold"), 2: ("Hold", "Hold"), 3: ("Terminated", "Hold")}
    cluster._settle(
        {
            number: [OarJob(id=10 * number + place, state=state) for place, state in enumerate(states, 1)]
            for number, states in copies.items()
        }
    )
    assert resumed == [12, 22]
    assert deleted == [("DELETE", "jobs/13"), ("DELETE", "jobs/21"), ("DELETE", "jobs/32")]


def test_one_look_reports_so_many_that_did_not_end_well(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each takes two requests for its output. Those that ended well are reported at once."""
    monkeypatch.setattr(oar, "OUTPUTS", 2)
    cluster.submit(requests_of("true", "exit 1", "true", "exit 1", "true", "exit 1", "true"))
    until(lambda: len(server.jobs) == 7 and all(job.state in ("Terminated", "Error") for job in server.jobs.values()))
    over = [{job.job for job in cluster.look().jobs if job.state is GridJobState.TERMINATED} for _ in range(2)]
    assert over == [{1, 2, 3, 4, 5, 7}, {1, 2, 3, 4, 5, 6, 7}]


def test_the_file_with_the_jobs_is_its_users_alone(cluster: OarCluster) -> None:
    cluster.submit(requests_of("true"))
    assert cluster._known._path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("looks", "seconds", "lost"),
    [(3, 60.0, True), (4, 60.0, True), (2, 600.0, False), (3, 59.5, False), (9, 59.5, False)],
)
def test_a_job_is_lost_after_three_looks_and_a_minute(
    cluster: OarCluster, looks: int, seconds: float, lost: bool
) -> None:
    cluster._known.ids[1] = 77
    for look in range(looks):
        assert 1 not in cluster._ended
        cluster._look_for(1, 5000.0 + seconds * look / (looks - 1))
    assert (1 in cluster._ended) == lost
    if lost:
        assert (cluster._ended[1].remote_id, cluster._ended[1].stop_time) == ("77", 5000.0 + seconds)


def test_the_bounds_of_the_pages_of_a_collection(
    server: OarServer, cluster: OarCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.page = 1
    monkeypatch.setattr(oar, "PAGES", 4)  # as many as there are resources
    assert cluster.look().max == 4
    monkeypatch.setattr(oar, "PAGES", 3)
    cluster._read_at = None
    with pytest.raises(ClusterError, match="lists resources/full on more than 3 pages"):
        cluster.look()
    monkeypatch.setattr(oar, "COLLECTION_BYTES", 1000)
    with pytest.raises(ClusterError, match="on pages of more than 1000 bytes"):
        cluster.look()
    monkeypatch.setattr(oar, "TIMES", 0)
    with pytest.raises(ClusterError, match="on pages of more than 0 s"):
        cluster.look()


@pytest.mark.parametrize(("period", "times"), [(1000.0, 1), (0.001, 3)])
def test_resources_are_read_again_after_their_period(
    server: OarServer, tmp_path: Path, period: float, times: int
) -> None:
    path = described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=60, period=period)
    cluster = OarCluster("luke", path, "m")
    for _ in range(3):
        cluster.look()
        time.sleep(0.002)
    assert [path for _, path, _ in server.asked].count("resources/full") == times


@pytest.mark.parametrize(
    ("properties", "many"),
    [("", 4), ("type = 'default'", 4), ("id = '2'", 1), ("id=2 and type='default'", 1), ("id = 2 AND type = x", 0)],
)
def test_resources_must_have_the_properties(server: OarServer, tmp_path: Path, properties: str, many: int) -> None:
    path = described(tmp_path / "oar.toml", url=server.url, user="alice", timeout=60, properties=properties)
    assert OarCluster("luke", path, "m").look().max == many


@pytest.mark.parametrize(
    ("status", "words"),
    [
        *((status, "does not accept the login for GET x: check") for status in (401, 403)),
        *((status, "redirects GET x: give the address to which it redirects") for status in (300, 302, 399)),
        *((status, f"answers GET x with the status {status} (why)") for status in (299, 400, 402, 404, 500)),
    ],
)
def test_the_sentence_of_each_status(cluster: OarCluster, status: int, words: str) -> None:
    answer = OarAnswer(status, "application/json", b'{"message": "why"}', "GET x")
    assert words in cluster._error(answer)

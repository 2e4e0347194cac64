"""A server that speaks OAR's REST API and runs the jobs as processes.

It is made from the exchanges that OAR 2.5.9 answered (`data/oar/exchanges.jsonl`) and from OAR's documentation. It is
strict: a request that OAR would not take, or whose words its shell would read, is a complaint that fails the test.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

FIELDS = {"command", "directory", "hold", "name", "param_file", "project", "property", "queue", "resources", "type"}
BUSY = {"toLaunch", "Running"}


@dataclass
class Job:
    """A job of OAR."""

    id: int
    array: int
    command: str
    directory: str
    name: str
    weight: int
    walltime: int
    besteffort: bool
    state: str
    owner: str
    submitted: float = field(default_factory=time.time)
    start: float = 0.0
    stop: float = 0.0
    exit_code: int | None = None
    resources: list[int] = field(default_factory=list)
    events: list[tuple[str, str]] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None


class OarServer:
    """The server.

    Attributes:
        url: the address of the API.
        complaints: what it was asked that OAR would not take.
        asked: all requests: the method, the path, and the body of a submission.
        faults: what to do wrong: pairs of a regular expression for `METHOD path` and a kind of fault. Each
            is done once.
        starts: how often each command was started.
        over: set when the server is closed.
    """

    def __init__(self, folder: Path, resources: int = 4, user: str = "alice") -> None:
        self.folder = folder
        self.user = user
        self.jobs: dict[int, Job] = {}
        self.states = dict.fromkeys(range(1, resources + 1), "Alive")
        self.complaints: list[str] = []
        self.asked: list[tuple[str, str, dict[str, str] | None]] = []
        self.faults: list[tuple[str, str]] = []
        self.starts: dict[str, int] = {}
        self.page = 500
        self.stress = "0.1"
        self.headers: list[dict[str, str]] = []
        self.lock = threading.RLock()
        self.over = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}/oarapi"
        self._threads = [
            threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True),
            threading.Thread(target=self._schedule, daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self.over.set()
        self._http.shutdown()
        self._http.server_close()
        for thread in self._threads:
            thread.join()
        for job in self.jobs.values():
            if job.process is not None:
                _kill(job.process)
                job.process.wait()

    # The scheduler

    def _schedule(self) -> None:
        while not self.over.wait(0.01):
            with self.lock:
                for job in self.jobs.values():
                    self._step(job)

    def _step(self, job: Job) -> None:
        if job.state == "Running":
            assert job.process is not None
            status = job.process.poll()
            if status is not None:
                killed = any(each == "FRAG_JOB_REQUEST" for each, _ in job.events)
                code = None if killed else (-status if status < 0 else status << 8)
                self._end(job, "Error" if killed else "Terminated", code)
            elif time.time() - job.start > job.walltime:
                job.events += [("FRAG_JOB_REQUEST", ""), ("WALLTIME", f"[sarko] Job {job.id} reached its walltime")]
                _kill(job.process)
        elif job.state in ("Waiting", "Hold") and any(each == "FRAG_JOB_REQUEST" for each, _ in job.events):
            self._end(job, "Error", None)
        elif job.state == "Waiting":
            free = [number for number in self.states if number not in self._used() and self.states[number] == "Alive"]
            if len(free) < job.weight:
                self._preempt(job)
            else:
                self._start(job, free[: job.weight])

    def _used(self) -> set[int]:
        return {number for job in self.jobs.values() if job.state in BUSY for number in job.resources}

    def _preempt(self, wanted: Job) -> None:
        running = [job for job in self.jobs.values() if job.besteffort and job.state == "Running"]
        if not wanted.besteffort and running and not any(job.events for job in running):
            self.reclaim(running[-1].id)

    def reclaim(self, number: int) -> None:
        """One of the cluster's own jobs kills a best-effort job."""
        job = self.jobs[number]
        job.events += [("FRAG_JOB_REQUEST", ""), ("BESTEFFORT_KILL", f"[MetaSched] kill the besteffort job {number}")]
        if job.process is not None:
            _kill(job.process)

    def _start(self, job: Job, resources: list[int]) -> None:
        job.start = time.time()
        if not os.path.isdir(job.directory):
            job.events.append(("WORKING_DIRECTORY", f"[bipbip {job.id}] Cannot enter {job.directory}"))
            self._end(job, "Error", None)
            return
        job.resources = resources
        nodes = self.folder / f"nodes.{job.id}"
        nodes.write_text("127.0.0.1\n" * job.weight)
        token = job.command.partition(";")[0]
        self.starts[token] = self.starts.get(token, 0) + 1
        file = f"{job.directory}/OAR.{job.name}.{job.id}"
        with open(f"{file}.stdout", "ab") as output, open(f"{file}.stderr", "ab") as errors:
            job.process = subprocess.Popen(
                ["bash", "-c", job.command],
                cwd=job.directory,
                env={"PATH": os.environ["PATH"], "HOME": str(self.folder), "OAR_NODE_FILE": str(nodes)},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
        job.state = "Running"

    def _end(self, job: Job, state: str, exit_code: int | None) -> None:
        job.state, job.exit_code, job.stop = state, exit_code, time.time()

    # Requests

    def submit(self, body: dict[str, str], user: str) -> tuple[int, dict[str, Any]]:
        """`POST jobs`."""
        with self.lock:
            return self._submit(body, user)

    def _submit(self, body: dict[str, str], user: str) -> tuple[int, dict[str, Any]]:
        self._check(body)
        if not set(body) <= FIELDS:
            return 500, _error(500, "Oar server error", "Oarsub command exited with status 1: Unknown option")
        found = re.fullmatch(r"/resource_id=(\d+),walltime=(\d+):(\d\d):(\d\d)", body["resources"])
        if found is None or int(found[1]) > len(self.states):
            return 400, _error(400, "Bad query", "There are not enough resources for your request\nOAR_JOB_ID=-5\n")
        hours, minutes, seconds = (int(found[each]) for each in (2, 3, 4))
        lines = body["param_file"].split("\n") if "param_file" in body else [None]
        first = max(self.jobs, default=0) + 1
        for number, line in enumerate(lines, first):
            self.jobs[number] = Job(
                id=number,
                array=first,
                command=body["command"] if line is None else f"{body['command']} {line}",
                directory=body.get("directory", "$HOME").replace("$HOME", str(self.folder)),
                name=body.get("name", ""),
                weight=int(found[1]),
                walltime=(hours * 60 + minutes) * 60 + seconds,
                besteffort=body.get("type") == "besteffort",
                state="Hold" if "hold" in body else "Waiting",
                owner=user,
            )
        output = "".join(f"OAR_JOB_ID={number}\n" for number in range(first, first + len(lines)))
        links = [{"rel": "self", "href": f"/oarapi/jobs/{first}"}]
        return 201, {"api_timestamp": int(time.time()), "cmd_output": output, "links": links, "id": first}

    def _check(self, body: dict[str, str]) -> None:
        if not {"resources", "command"} <= set(body) <= FIELDS:
            self.complaints.append(f"unknown or missing fields: {sorted(body)}")
        for name, text in body.items():
            if not isinstance(text, str):
                self.complaints.append(f"{name} is no text")
            elif name != "param_file" and re.search(r'[`"\\\n]|\$(?!HOME)', text):
                self.complaints.append(f"a shell of the frontend reads {name}: {text}")
        lines = body.get("param_file", "two\nlines").split("\n")
        if len(lines) < 2 or not all(line and not line.startswith("#") for line in lines):
            self.complaints.append("a file of parameters needs two lines, without comments or empty ones")

    def change(self, job: int, array: bool, what: str) -> tuple[int, dict[str, Any]]:
        """`DELETE jobs/ID`, `POST jobs/[array/]ID/deletions|resumptions/new`."""
        jobs = [each for each in self.jobs.values() if (each.array if array else each.id) == job]
        bad = not jobs
        for each in jobs:
            if what == "resumptions":
                bad = bad or each.state != "Hold"
                each.state = "Waiting" if each.state == "Hold" else each.state
            elif each.state in ("Terminated", "Error") or each.events:
                bad = True
            else:
                each.events.append(("FRAG_JOB_REQUEST", "User alice requested to frag the job"))
                if each.process is not None:
                    _kill(each.process)
        if bad:
            words = "the job is not in the Hold or Suspended state" if what == "resumptions" else "already killed"
            return 400, _error(400, "Oar error", f"Oar command exited with status 256: {words}")
        status = "Resume request registered" if what == "resumptions" else "Delete request registered"
        return 202, {"api_timestamp": int(time.time()), "id": str(job), "status": status, "cmd_output": "", "links": []}

    def collection(self, path: str, query: dict[str, list[str]]) -> dict[str, Any]:
        """`GET jobs/details`, `GET resources/full`."""
        if path == "resources/full":
            found: list[Any] = [_resource(number, state) for number, state in self.states.items()]
        elif "ids" in query:
            wanted = {int(each) for each in query["ids"][0].split(":")}
            found = [_job(job) for job in self.jobs.values() if job.id in wanted]
        elif "array" in query:
            found = [_job(job) for job in self.jobs.values() if str(job.array) == query["array"][0]]
        else:
            user = query.get("user", [None])[0]
            all_of_them = "from" in query
            found = [
                _job(job)
                for job in self.jobs.values()
                if user in (None, job.owner) and (all_of_them or job.state not in ("Terminated", "Error"))
            ]
        offset = int(query.get("offset", ["0"])[0])
        limit = int(query.get("limit", [str(self.page)])[0])
        links = [{"rel": "self", "href": f"/oarapi/{path}?offset={offset}"}]
        if offset + limit < len(found):
            links.append({"rel": "next", "href": f"/oarapi/{path}?offset={offset + limit}"})
        items = found[offset : offset + limit]
        stamp = int(time.time())
        return {"api_timestamp": stamp, "items": items, "links": links, "offset": offset, "total": len(found)}


def _handler(server: OarServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, format: str, *arguments: object) -> None:
            """Print nothing."""

        def do_GET(self) -> None:
            self._answer(b"")

        def do_POST(self) -> None:
            if "Content-Length" not in self.headers:
                server.complaints.append(f"POST {self.path} has no Content-Length")
            self._answer(self.rfile.read(int(self.headers.get("Content-Length", "0"))))

        def do_DELETE(self) -> None:
            self.do_POST()

        def _answer(self, body: bytes) -> None:
            parts = urlsplit(self.path)
            path = parts.path.removeprefix("/oarapi/")
            with server.lock:
                server.headers.append(dict(self.headers))
                fault = self._fault(f"{self.command} {path}")
                before = fault in ("500", "html", "redirect", "slow", "drip", "hung up", "denied")
                status, answer = (0, None) if before else self._asked(path, parse_qs(parts.query), body)
            if fault is not None:
                self._misbehave(fault, status, answer)
            elif isinstance(answer, bytes):
                self._send(status, answer, "application/octet-stream; charset=ISO-8859-1")
            else:
                text = b"" if answer is None else json.dumps(answer).encode()
                self._send(status, text, "application/json; charset=ISO-8859-1")

        def _asked(self, path: str, query: dict[str, list[str]], body: bytes) -> tuple[int, Any]:
            method, user = self.command, self.headers.get("X-REMOTE-IDENT", "")
            posted = json.loads(body) if body else {}
            server.asked.append(
                (method, self.path.removeprefix("/oarapi/"), posted if method == "POST" and path == "jobs" else None)
            )
            if self.headers.get("Accept") != "application/json":
                server.complaints.append(f"{method} {path} does not accept JSON")
            if method != "GET" and self.headers.get("Content-Type") != "application/json":
                server.complaints.append(f"{method} {path} sends no JSON")
            public = path in ("", "resources/full", "jobs/details", "stress_factor")
            if not public and user != server.user:
                return 401, _error(401, "Permission denied", "A suitable authentication must be done before")
            if method == "GET" and path in ("jobs/details", "resources/full"):
                return 200, server.collection(path, query)
            if method == "GET" and path == "stress_factor":
                return 200, {"GLOBAL_STRESS": server.stress, "links": [], "api_timestamp": int(time.time())}
            if method == "POST" and path == "jobs":
                return server.submit(posted, user)
            if method == "DELETE" and (found := re.fullmatch(r"jobs/(\d+)", path)):
                return server.change(int(found[1]), False, "deletions")
            found = re.fullmatch(r"jobs/(array/)?(\d+)/(deletions|resumptions)/new", path)
            if method == "POST" and found:
                return server.change(int(found[2]), bool(found[1]), found[3])
            if method == "GET" and path.startswith("media/"):
                file = Path("/" + unquote(path.removeprefix("media/")).lstrip("/"))
                if not file.is_file():
                    return 404, _error(404, "Not found", f"File not found: {file}")
                lines = file.read_bytes().splitlines(keepends=True)
                return 200, b"".join(lines[-int(query["tail"][0]) :])
            server.complaints.append(f"no way to handle {method} {path}")
            return 404, _error(404, "Not found", f"No way to handle your request /{path}")

        def _fault(self, line: str) -> str | None:
            for each in server.faults:
                if re.search(each[0], line):
                    server.faults.remove(each)
                    return each[1]
            return None

        def _misbehave(self, fault: str, status: int, answer: Any) -> None:
            text = json.dumps(answer).encode()
            if fault == "500":
                self._send(500, json.dumps(_error(500, "Oar server error", "it is broken")).encode())
            elif fault == "denied":
                seen = self.headers.get("Authorization", "")
                self._send(401, json.dumps(_error(401, "Permission denied", f"not with {seen}")).encode())
            elif fault == "late 500":  # the jobs are there all the same: the real server does this
                self._send(500, json.dumps(_error(500, "Oar server error", "Cannot connect to executor")).encode())
            elif fault == "html":
                self._send(200, b"<html><head><title>Maintenance</title></head><body>Back at 5</body></html>")
            elif fault == "half":
                self._send(200, text[: len(text) // 2])
            elif fault == "cut":
                self._send(200, text, length=len(text) + 100)
                self.close_connection = True
            elif fault == "nothing":
                self._send(200, b'{"items": [], "links": [], "total": 0, "offset": 0}')
            elif fault == "redirect":
                self.send_response(302)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.send_header("Content-Length", "0")
                self.end_headers()
            elif fault == "huge":
                self._send(200, text, length=10**15)
                self.close_connection = True
            elif fault == "drip":
                self.wfile.write(b"HTTP/1.1 200 OK\r\n")
                with _hung_up():
                    for number in range(1000):
                        self.wfile.write(f"X-{number}: slow\r\n".encode())
                        server.over.wait(0.05)
                self.close_connection = True
            elif fault == "slow":
                server.over.wait()
                self.close_connection = True
            else:  # lost, hung up
                self.close_connection = True
                self.connection.close()

        def _send(self, status: int, text: bytes, type: str = "application/json", length: int | None = None) -> None:
            with _hung_up():
                self.send_response(status)
                self.send_header("Content-Type", type)
                self.send_header("Content-Length", str(len(text) if length is None else length))
                self.end_headers()
                self.wfile.write(text)

    return Handler


@contextmanager
def _hung_up() -> Iterator[None]:
    """The client does not wait."""
    try:
        yield
    except OSError:
        return


def _kill(process: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return


def _error(code: int, title: str, message: str) -> dict[str, Any]:
    return {"code": code, "title": title, "message": message}


def _job(job: Job) -> dict[str, Any]:
    """A job of `jobs/details`, with the keys of the recording."""
    node = {"network_address": "127.0.0.1", "status": "assigned", "links": [], "api_timestamp": int(time.time())}
    events = [
        {"type": type, "description": text, "date": int(time.time()), "event_id": 1, "job_id": job.id, "to_check": "NO"}
        for type, text in job.events
    ]
    return {
        "id": job.id,
        "array_id": job.array,
        "array_index": None,
        "state": job.state,
        "command": job.command,
        "exit_code": job.exit_code,
        "start_time": int(job.start),
        "stop_time": int(job.stop),
        "submission_time": int(job.submitted),
        "events": events,
        "resources": [{"id": each, "status": "assigned"} for each in job.resources],
        "nodes": [node] if job.resources else [],
        "launching_directory": job.directory,
        "stdout_file": f"OAR.{job.name}.{job.id}.stdout",
        "stderr_file": f"OAR.{job.name}.{job.id}.stderr",
        "owner": job.owner,
        "name": job.name,
        "types": ["besteffort"] if job.besteffort else [],
        "queue": "besteffort" if job.besteffort else "default",
        "walltime": job.walltime,
        "api_timestamp": int(time.time()),
        "cpuset_name": None,
        "dependencies": [],
        "initial_request": "",
        "links": [],
        "message": "",
        "project": "default",
        "properties": "",
        "reservation": "None",
        "resubmit_job_id": None,
        "scheduled_start": None,
        "type": "PASSIVE",
        "wanted_resources": "",
    }


def _resource(number: int, state: str) -> dict[str, Any]:
    """A resource of `resources/full`, with the keys of the recording."""
    zeros = dict.fromkeys(("expiry_date", "last_available_upto", "last_job_date", "scheduler_priority"), 0)
    noes = dict.fromkeys(
        ("deploy", "desktop_computing", "drain", "finaud_decision", "next_finaud_decision", "suspended_jobs"), "NO"
    )
    return {
        **zeros,
        **noes,
        "id": number,
        "state": state,
        "state_num": 1,
        "next_state": "UnChanged",
        "network_address": "127.0.0.1",
        "type": "default",
        "besteffort": "YES",
        "cpuset": number - 1,
        "available_upto": 2147483647,
        "api_timestamp": int(time.time()),
        "links": [],
    }

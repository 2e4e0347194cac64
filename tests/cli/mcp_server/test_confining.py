"""A confined process uses the files of its folder, and nothing else.

Each question is one process that tries many things, as a confined process stays so. It is asked with the kernel and
without, as on systems without Landlock. Only the kernel sees the files that code in C opens.
"""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from batprotocol.cli.mcp_server.process import kernel_version
from batprotocol.cli.mcp_server.vocabulary import Folder, places_of

if sys.platform == "linux":
    pytest.importorskip("landlockpy")

WITHOUT_ENGINE = True

needs_kernel = pytest.mark.skipif(kernel_version() < 1, reason="the kernel of this system has no Landlock")

TRY = """
import ctypes, json, os, shutil, socket, sqlite3, subprocess, sys

sys.path[:] = [each for each in sys.path if each]
from batprotocol.cli.mcp_server import process as confining
from batprotocol.cli.mcp_server.vocabulary import places_of

folder, outside, scratch, runs_code, kernel, way = sys.argv[1:]
if kernel == "no":
    confining.kernel_version = lambda: 0
os.chdir(folder)
if way == "python":
    confining.confine(places_of(folder, scratch), runs_code=runs_code == "yes")
else:
    confining._confine_by_kernel(places_of(folder, scratch))  # as code in C is: without the hook of Python
parent = os.getppid()
tried = {
    "read inside": lambda: open("inside.txt").close(),
    "write inside": lambda: open("new.txt", "w").close(),
    "make a folder": lambda: os.mkdir("made"),
    "rename inside": lambda: os.rename("new.txt", "made/newer.txt"),
    "list inside": lambda: os.listdir("."),
    "database inside": lambda: sqlite3.connect("runs.db").close(),
    "read code": lambda: open("code.py").close(),
    "read a module of Python": lambda: open(json.__file__).close(),
    "the engine of studies": lambda: subprocess.run([sys.executable, "-c", "pass"], check=True),
    "read the environment": lambda: open("/proc/self/environ").close(),
    "read the environment of another": lambda: open(f"/proc/{parent}/environ").close(),
    "read by a link of the process": lambda: open("/proc/self/root" + outside + "/secret.txt").close(),
    "read what all can read": lambda: open("/etc/passwd").close(),
    "read outside": lambda: open(outside + "/secret.txt").close(),
    "read outside by a relative path": lambda: open(os.path.relpath(outside + "/secret.txt")).close(),
    "read through a link": lambda: open("link.txt").close(),
    "read through a linked folder": lambda: open("linked/secret.txt").close(),
    "read bytes": lambda: open(os.fsencode(outside + "/secret.txt")).close(),
    "read by descriptor": lambda: os.close(os.open(outside + "/secret.txt", os.O_RDONLY)),
    "a folder with the same beginning": lambda: open(folder + "-other/secret.txt").close(),
    "write outside": lambda: open(outside + "/new.txt", "w").close(),
    "write among the modules": lambda: open(os.path.dirname(json.__file__) + "/new.py", "w").close(),
    "append outside": lambda: open(outside + "/secret.txt", "a").close(),
    "remove outside": lambda: os.remove(outside + "/secret.txt"),
    "rename outside": lambda: os.rename("inside.txt", outside + "/stolen.txt"),
    "bring in": lambda: os.rename(outside + "/secret.txt", "mine.txt"),
    "link in": lambda: os.link(outside + "/secret.txt", "mine.txt"),
    "list outside": lambda: os.listdir(outside),
    "scan outside": lambda: os.scandir(outside).close(),
    "go outside": lambda: os.chdir(outside),
    "copy in": lambda: shutil.copy(outside + "/secret.txt", "mine.txt"),
    "remove a tree": lambda: shutil.rmtree(outside),
    "database outside": lambda: sqlite3.connect(outside + "/runs.db").close(),
    "another program": lambda: subprocess.run(["true"]),
    "a shell": lambda: os.system("true"),
    "a shell of Python": lambda: subprocess.run("true", shell=True),
    "replace the process": lambda: os.execv(sys.executable, [sys.executable, "-c", "pass"]),
    "connect": lambda: socket.create_connection(("127.0.0.1", 1)),
    "listen": lambda: socket.socket().bind(("127.0.0.1", 0)),
    "resolve a name": lambda: socket.getaddrinfo("localhost", 1),
}
if way == "kernel":  # it refuses none of these, and does not raise an exception for a shell
    for name in ("read code", "replace the process", "listen", "resolve a name", "go outside", "a shell"):
        del tried[name]
said = {}
for name, act in tried.items():
    try:
        act()
    except PermissionError as error:
        said[name] = "refused" if way == "kernel" or "here" in str(error) else f"{error}"
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
    else:
        said[name] = "done"
print(json.dumps(said))
"""
FINE = ("inside", "make a folder", "read a module", "the engine")


def tried(place: Path, runs_code: str = "no", kernel: str = "yes", way: str = "python") -> dict[str, str]:
    folder, outside = place / "folder", place / "outside"
    for each in (folder, outside, place / "folder-other"):
        each.mkdir()
        (each / "secret.txt").write_text("secret")
    (folder / "inside.txt").write_text("mine")
    (folder / "code.py").write_text("")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    # The folder for temporary files, which is open, must not be above these folders.
    scratch = place / "scratch"
    scratch.mkdir()
    words = [sys.executable, "-c", TRY, *map(str, (folder, outside, scratch)), runs_code, kernel, way]
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "TMPDIR": str(scratch)})
    assert sorted(os.listdir(outside)) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"
    said: dict[str, str] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("kernel", [pytest.param("yes", marks=needs_kernel), "no"])
@pytest.mark.parametrize("runs_code", ["no", "yes"])
def test_a_confined_process_uses_its_folder_only(tmp_path: Path, runs_code: str, kernel: str) -> None:
    expected = {"read code": "done" if runs_code == "yes" else "refused"}
    for name, answer in tried(tmp_path, runs_code, kernel).items():
        assert answer == expected.get(name, "done" if any(word in name for word in FINE) else "refused"), name


@needs_kernel
def test_code_in_c_is_confined_too(tmp_path: Path) -> None:
    """The kernel alone, as an audit hook does not see libraries. The kernel does not know which files have code."""
    for name, answer in tried(tmp_path, way="kernel").items():
        assert (answer == "done") is any(word in name for word in FINE), (name, answer)


@needs_kernel
def test_a_kernel_under_which_files_cannot_be_moved_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    import landlockpy

    def forbidden() -> int:
        raise landlockpy.LandlockError(errno.EPERM, "not permitted")

    for answer in (lambda: 1, lambda: 0, forbidden):
        monkeypatch.setattr(landlockpy, "abi_version", answer)
        assert kernel_version() == 0


RACE = """
import os, sys
from batprotocol.cli.mcp_server.process import confine
from batprotocol.cli.mcp_server.vocabulary import places_of

os.chdir(sys.argv[1])
confine(places_of(sys.argv[1], sys.argv[2]))
print("ready", flush=True)
found = set()
tries = 0
while tries < 300 or not os.path.exists("enough"):
    tries += 1
    try:
        with open("changing.txt") as file:
            found.add(file.read())
    except OSError:
        pass
    try:
        with open("changing/new.txt", "w") as file:
            file.write("written")
    except OSError:
        pass
print("secret" in found)
"""


@needs_kernel
def test_links_that_change_while_they_are_followed_lead_nowhere(tmp_path: Path) -> None:
    """The hook asks where a link leads, and then Python opens it: in between, it leads elsewhere."""
    folder, outside, scratch = (tmp_path / name for name in ("folder", "outside", "scratch"))
    for each in (folder, outside, scratch, folder / "real"):
        each.mkdir()
    (folder / "mine.txt").write_text("mine")
    (outside / "secret.txt").write_text("secret")
    links = ((folder / "mine.txt", outside / "secret.txt"), (folder / "real", outside))
    names = ("changing.txt", "changing")
    words = [sys.executable, "-c", RACE, str(folder), str(scratch)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        turn = 0
        while process.poll() is None:
            turn += 1
            for name, targets in zip(names, links, strict=True):
                os.symlink(targets[turn % 2], folder / "next")
                os.replace(folder / "next", folder / name)
            if turn == 300:
                (folder / "enough").touch()
        assert process.stdout.read() == "False\n"
    assert turn >= 300
    assert os.listdir(outside) == ["secret.txt"]


def test_the_folder_stays_the_same_when_it_is_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "link").symlink_to("experiments")
    monkeypatch.chdir(tmp_path)
    folder = Folder("link")
    assert folder.path == str(tmp_path / "experiments")
    (tmp_path / "experiments").rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "other").rename(tmp_path / "experiments")
    folder.keep("study.toml", b"kept")
    assert (tmp_path / "moved" / "study.toml").read_bytes() == b"kept"
    assert not os.listdir(tmp_path / "experiments")


def test_no_link_is_followed_to_keep_a_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "study.toml").symlink_to(tmp_path / "new.toml")
    Folder(str(tmp_path / "folder")).keep("study.toml", b"kept")
    assert not (tmp_path / "new.toml").exists()


def test_a_folder_of_modules_does_not_open_what_lies_beside_the_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "experiments").mkdir()
    (tmp_path / "modules").mkdir()
    monkeypatch.setattr(sys, "path", [*sys.path, str(tmp_path), str(tmp_path / "modules")])
    places = places_of(str(tmp_path / "experiments"), str(tmp_path))
    assert str(tmp_path) not in places.python
    assert str(tmp_path / "modules") in places.python

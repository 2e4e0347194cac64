"""What a confined process can do: it uses the files of its folder, and nothing else.

Each question is one process that tries many things, as an audit hook cannot be taken back.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT_ENGINE = True

TRY = """
import json, os, shutil, socket, sqlite3, subprocess, sys

sys.path[:] = [each for each in sys.path if each]
from batprotocol.mcp.confining import confine

folder, outside, runs_code = sys.argv[1:]
confine(folder, runs_code=runs_code == "yes")
os.chdir(folder)
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
said = {}
for name, act in tried.items():
    try:
        act()
    except PermissionError as error:
        said[name] = "refused" if "here" in str(error) else f"{error}"
    except Exception as error:
        said[name] = f"{type(error).__name__}: {error}"
    else:
        said[name] = "done"
print(json.dumps(said))
"""
FINE = ("inside", "make a folder", "read a module", "the engine")


def tried(place: Path, runs_code: str) -> dict[str, str]:
    folder, outside = place / "folder", place / "outside"
    for each in (folder, outside, place / "folder-other"):
        each.mkdir()
        (each / "secret.txt").write_text("secret")
    (folder / "inside.txt").write_text("mine")
    (folder / "code.py").write_text("")
    (folder / "link.txt").symlink_to(outside / "secret.txt")
    (folder / "linked").symlink_to(outside)
    words = [sys.executable, "-c", TRY, str(folder), str(outside), runs_code]
    # The folder for temporary files, which is open, must not be one above these folders.
    scratch = place / "scratch"
    scratch.mkdir()
    done = subprocess.run(words, stdout=subprocess.PIPE, check=True, env={**os.environ, "TMPDIR": str(scratch)})
    assert sorted(os.listdir(outside)) == ["secret.txt"]
    assert (outside / "secret.txt").read_text() == "secret"
    said: dict[str, str] = json.loads(done.stdout)
    return said


@pytest.mark.parametrize("runs_code", ["no", "yes"])
def test_a_confined_process_uses_its_folder_only(tmp_path: Path, runs_code: str) -> None:
    expected = {"read code": "done" if runs_code == "yes" else "refused"}
    for name, answer in tried(tmp_path, runs_code).items():
        assert answer == expected.get(name, "done" if any(word in name for word in FINE) else "refused"), name

"""The definitions for other package managers, read by the tools that they are for."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest
from servers import find
from support import ROOT

WITHOUT_ENGINE = True
PACKAGING = ROOT / "packaging"

# A set of packages in which each is its name, and functions return what they are given.
NIX = """
let
  lib = {
    cleanSource = path: path;
    optionals = condition: list: if condition then list else [ ];
    licenses.lgpl3Plus = "LGPL-3.0-or-later";
    platforms.unix = [ ];
  };
  file = import FILE;
  names = builtins.attrNames (builtins.functionArgs file);
  packages = builtins.listToAttrs (map (name: { inherit name; value = name; }) names) // {
    inherit lib;
    buildPythonPackage = given: if builtins.isFunction given then (let made = given made; in made.pname) else given;
    fetchPypi = given: given;
    pythonOlder = version: OLDER;
  };
  made = file packages;
in
builtins.removeAttrs made [ "src" ]
"""

# The reader of Guix knows two more kinds of expressions.
GUIX = r"""
(read-hash-extend #\~ (lambda (character port) (list 'gexp (read port))))
(read-hash-extend #\$ (lambda (character port) (list 'ungexp (read port))))
(call-with-input-file (cadr (command-line))
  (lambda (port)
    (let loop ((form (read port)))
      (unless (eof-object? form)
        (write (if (pair? form) (list (car form) (cadr form)) form))
        (newline)
        (loop (read port))))))
"""


def printed(*command: str | Path) -> str:
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("name", ["flake.nix", "package.nix"])
def test_nix_reads_it(name: str) -> None:
    assert printed(find("nix-instantiate"), "--parse", PACKAGING / "nix" / name)


@pytest.mark.parametrize("older", [False, True])
def test_nix_makes_a_package_of_it(older: bool) -> None:
    path = str(PACKAGING / "nix" / "package.nix")
    expression = NIX.replace("FILE", path).replace("OLDER", str(older).lower())
    program = find("nix-instantiate")
    made = json.loads(printed(program, "--eval", "--strict", "--json", "-E", expression))
    assert made["pname"] == "batprotocol"
    assert ("tomli" in made["dependencies"]) == older
    assert made["meta"]["mainProgram"] == "batproto"


def test_guile_reads_it(tmp_path: Path) -> None:
    program = tmp_path / "read.scm"
    program.write_text(GUIX)
    forms = printed(find("guile"), "--no-auto-compile", program, PACKAGING / "guix" / "batprotocol.scm").splitlines()
    assert forms == [
        "(define-module (batprotocol))",
        "(define-public python-procset)",
        "(define-public python-batprotocol)",
        "python-batprotocol",
    ]


def test_hadolint_finds_nothing() -> None:
    assert printed(find("hadolint"), "--no-color", PACKAGING / "container" / "Dockerfile") == ""


def test_rattler_build_reads_it() -> None:
    rattler = pytest.importorskip("rattler_build", reason="could not import 'rattler_build'")
    variants = rattler.VariantConfig.from_file(str(PACKAGING / "conda" / "variants.yaml"))
    recipe = rattler.Stage0Recipe.from_file(str(PACKAGING / "conda" / "recipe.yaml"))
    rendered = recipe.render(variants)
    assert len(rendered) == 6  # each Python that wheels are made for
    runs = [str(each.recipe.to_dict()["requirements"]["run"]) for each in rendered]
    assert sum("tomli" in each for each in runs) == 1


def test_apptainer_has_valid_scripts() -> None:
    """Each section is one that Apptainer knows, and its scripts are those of a shell."""
    text = (PACKAGING / "container" / "batprotocol.def").read_text()
    sections = re.findall(r"(?m)^%(\w+)(?: from \w+)?\n((?:    .*\n|\n)*)", text)
    assert [name for name, _ in sections] == ["files", "post", "files", "post", "runscript", "test", "help"]
    for name, script in sections:
        if name in ("post", "runscript", "test"):
            subprocess.run(["sh", "-n", "-c", script], check=True)


def test_containers_run_the_first_command_of_the_handbook() -> None:
    """What a container does by itself, and what it is tested with, is in the handbook."""
    docker = (PACKAGING / "container" / "Dockerfile").read_text()
    words = json.loads(docker.rpartition("CMD ")[2])
    first = (ROOT / "docs" / "index.md").read_text()
    assert f"$ batproto {' '.join(words)}" in first
    assert f"    batproto {' '.join(words)}\n" in (PACKAGING / "container" / "batprotocol.def").read_text()

"""What runs the pages of the handbook notices what is wrong on one, and starts and ends what a page starts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
import servers
import stories

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow


def page(tmp_path: Path, text: str) -> tuple[Path, Path]:
    """A page and an empty folder for its story, with nothing in `examples`."""
    path, folder = tmp_path / "page.md", tmp_path / "story"
    (folder / "examples").mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return path, folder


def block(text: str, language: str = "sh", **said: str) -> str:
    comments = "".join(f"<!-- {name}: {value} -->\n" for name, value in said.items())
    return f"{comments}```{language}\n{text}\n```\n\n"


@pytest.mark.parametrize(
    "text",
    [
        block("$ echo one; echo two; echo three\none\n...\nthr...", "console"),
        block("exit 3", exit="3"),
        block("yes | head -2") + block("y\ny", "text"),
        block("echo kept", terminal="one") + block("kept", "text", terminal="one"),
        block("echo first", terminal="one")
        + block("echo then", terminal="one")
        + block("then", "text", terminal="one"),
        block("sleep 0.2; echo so far; sleep 60", terminal="one", ready="so far"),
        block("sleep 60 & echo started") + block("started", "text"),
        block("print(6 * 7)", "python") + block("42", "text"),
        block("a: 1", "yaml", file="some.yaml") + block("$ cat some.yaml\na: 1", "console"),
    ],
)
def test_what_is_right(text: str, tmp_path: Path) -> None:
    assert stories.run_page(*page(tmp_path, text)) == text.count("```") // 2


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (block("$ echo one\ntwo", "console"), "shown:\ntwo"),
        (block("true") + block("false"), "page.md:5: AssertionError: exit status 1 of\nfalse"),
        (block("exit 2", exit="3"), "exit status 2"),
        (block("false | head -1"), "exit status 1"),
        (block("exit 4", terminal="one") + block("sleep 0.3"), "exit status 4"),
        (block("exit 4", terminal="one", ready="it listens"), "'it listens' is not printed"),
        (block("echo this", terminal="one") + block("that", "text", terminal="one"), "shown:\nthat"),
        (block("true", terminal="one", port="28000"), "nobody listens at"),
        (block("{", "json"), "JSONDecodeError"),
        (block("def (", "python", file="wrong.py"), "SyntaxError"),
        (block("fn main() {}", "rust"), "nobody knows how to run ```rust"),
    ],
)
def test_what_is_wrong(text: str, reason: str, tmp_path: Path) -> None:
    with pytest.raises(AssertionError) as caught:
        stories.run_page(*page(tmp_path, text))
    assert reason in str(caught.value)


def test_ports_are_free_and_waited_for(tmp_path: Path) -> None:
    server = block("sleep 0.2; python -m http.server --bind 127.0.0.1 28000", terminal="server", port="28000")
    client = (
        "$ python -c 'import urllib.request as r; print(r.urlopen(\"http://127.0.0.1:28000\").status)'\n200\n"
        "$ echo 128000\n128000"
    )
    assert stories.run_page(*page(tmp_path, server + block(client, "console"))) == 2


def test_what_goes_on_ends_with_the_page(tmp_path: Path) -> None:
    path, folder = page(tmp_path, block("echo $$ > id; echo there; exec sleep 60", terminal="one", ready="there"))
    stories.run_page(path, folder)
    assert subprocess.run(["kill", "-0", (folder / "id").read_text().strip()], check=False).returncode == 1


def test_needs_hold_from_where_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = servers.PROGRAMS["pybatsim"]._replace(pip="pybatsim of another name")
    monkeypatch.setitem(servers.PROGRAMS, "no-such-program", lacking)
    monkeypatch.setattr(servers, "_wanted", "found")  # whatever is wanted of the tests of this run
    rest = "<!-- needs: no-such-program -->\n" + block("no-such-program")
    with pytest.raises(pytest.skip.Exception, match="pip install pybatsim of another name"):
        stories.run_page(*page(tmp_path / "right", block("true") + rest))
    with pytest.raises(AssertionError, match="exit status 1"):
        stories.run_page(*page(tmp_path / "wrong", block("false") + rest))

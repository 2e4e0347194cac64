"""The page of a timeline in a real browser, Chromium: what is seen, found and clicked, and that it asks for nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
from browser import Browser, Tab
from support import ROOT

from batprotocol import FinalJobState
from batprotocol.recordings.timeline import Messages, Series, Timeline, TimelineData, TimelineJob
from batprotocol.recordings.timeline._figures import _hash

WITHOUT_ENGINE = True
pytestmark = pytest.mark.slow

EVIL = "w0!</script><img src=x onerror=document.title='caught'>"
ALT, SHIFT = 1, 8
PAGE = ROOT / "batprotocol" / "capture" / "timeline" / "page"
COLOUR_AT = """(() => {
  const canvas = document.querySelector("#base"), box = canvas.getBoundingClientRect();
  return [...canvas.getContext("2d").getImageData(%s - box.x, %s - box.y, 1, 1).data.slice(0, 3)];
})()"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as started:
        yield started


def run_of(name: str, count: int, hosts: int = 64, with_messages: bool = True, most_texts: int = 1000) -> TimelineData:
    """Jobs one after the other, each 10 s long on 4 hosts, of which one has an evil name."""
    states = list(FinalJobState)[1:5]
    jobs = [
        TimelineJob(
            job_id=EVIL if number == 7 else f"w0!{number}",
            submitted=max(0.0, 10.0 * (number // 16) - 5),
            started=10.0 * (number // 16),
            finished=10.0 * (number // 16) + 9,
            hosts=((number * 4 % hosts, number * 4 % hosts + 3),),
            state=states[number % 4],
            requested=4,
            profile=f"w0!{EVIL}" if number == 7 else "w0!p",
        )
        for number in range(count)
    ]
    messages = Messages(most_texts, "batproto dump run.tar.xz shows message {number}.")
    for number, job in enumerate(jobs if with_messages else ()):
        text = f"message {number} about {job.job_id}" if messages.wants_text else None
        messages.add(job.started or 0.0, number % 2, "ExecuteJob", 1, [job.job_id], text)
    messages.finish()
    power = Series("power", "power", [0.0, 5.0], [100.0, 2500.0], unit="W", lane="power")
    return TimelineData(name, jobs, hosts=hosts, series=[power], messages=messages)


def opened(browser: Browser, folder: Path, *runs: TimelineData, **size: Any) -> Tab:
    path = folder / "run.html"
    Timeline(runs).save(path)
    tab = browser.open(path, **size)
    tab.wait("document.body && document.body.dataset.ready === 'yes'")
    return tab


def shown(tab: Tab) -> dict[str, str]:
    """What is shown, as the address of the page tells, once it has followed."""
    tab.run("new Promise(done => setTimeout(done, 400))")
    return {name: values[0] for name, values in parse_qs(tab.run("location.hash.slice(1)")).items()}


def span(tab: Tab) -> float:
    first, last = map(float, shown(tab)["t"].split(","))
    return last - first


def text_of(tab: Tab, selector: str) -> str:
    return str(tab.run(f"document.querySelector({json.dumps(selector)}).textContent"))


def faults(tab: Tab) -> list[Any]:
    return tab.events("Runtime.exceptionThrown") + tab.events("Log.entryAdded")


def test_a_run_is_seen_searched_and_clicked(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, run_of(f"run {EVIL}", 400, most_texts=300))
    assert text_of(tab, "h1") == f"run {EVIL}"
    assert "400 jobs · 64 hosts" in text_of(tab, "#facts")
    assert "the texts of the first 300" in text_of(tab, "#facts")

    # The evil one is found by a part of its name, and told as it is called.
    tab.press("/")
    tab.type("onerror")
    assert text_of(tab, "#found li") == f"{EVIL} rejected"
    tab.press("Enter")
    assert text_of(tab, "#panel-title") == f"Job {EVIL}"
    assert shown(tab)["job"] == EVIL
    assert span(tab) < 40
    tab.run("document.querySelector('.messages button').click()")
    tab.wait("document.querySelector('pre').textContent !== '…'")
    assert text_of(tab, "pre") == f"message 7 about {EVIL}\n"
    assert text_of(tab, "pre mark") == EVIL
    assert shown(tab)["message"] == "7"
    tab.press("]")
    tab.wait("document.querySelector('pre').textContent === 'message 8 about w0!8\\n'")
    tab.press("Escape")
    assert tab.run("document.querySelector('#panel').hidden")

    # A message whose text is not there.
    tab.press("/")
    tab.run("document.querySelector('#search').value = ''")
    tab.type("399")
    tab.press("Enter")
    tab.run("document.querySelector('.messages button').click()")
    tab.wait("document.querySelector('pre').textContent.includes('batproto dump run.tar.xz shows message 00399.')")

    assert tab.run("document.title") == f"run {EVIL}"
    assert tab.run("document.querySelectorAll('img').length") == 0
    assert not faults(tab)
    requests = [each["request"]["url"].partition("#")[0] for each in tab.events("Network.requestWillBeSent")]
    assert requests == [(tmp_path / "run.html").as_uri()]
    tab.close()


def test_mouse_and_keys_move_about(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, run_of("run", 400))
    whole = span(tab)
    tab.wheel(640, 300, -300)
    assert span(tab) == pytest.approx(whole * 1.2**-3)
    before = shown(tab)["t"]
    tab.drag(640, 300, 500, 300)
    after = shown(tab)["t"]
    assert float(after.split(",")[0]) > float(before.split(",")[0])
    assert span(tab) == pytest.approx(whole * 1.2**-3)
    tab.drag(500, 200, 600, 400, modifiers=SHIFT)  # a box of time and hosts
    assert span(tab) < whole / 8
    first, last = map(float, shown(tab)["hosts"].split(","))
    assert 0 < last - first < 40
    tab.press("0")
    assert span(tab) == pytest.approx(whole)
    assert "hosts" not in shown(tab)
    tab.run("document.querySelector('#stage').focus()")
    tab.press("+")
    assert span(tab) == pytest.approx(whole / 1.5)
    tab.press("ArrowRight")
    tab.press("-")
    assert span(tab) == pytest.approx(whole)
    tab.wheel(640, 300, -300, ALT)
    assert "hosts" in shown(tab)
    assert not faults(tab)
    tab.close()


def test_pointing_and_clicking(browser: Browser, tmp_path: Path) -> None:
    """A job under the pointer is told, and has the colour that a figure gives it."""
    tab = opened(browser, tmp_path, run_of("run", 160))
    tab.press("/")
    tab.type("w0!20")
    tab.press("Enter")
    tab.run("new Promise(done => setTimeout(done, 100))")
    x, told = 440, ""  # the middle of the plot beside the panel
    for y in range(120, 520, 8):
        tab.mouse("mouseMoved", x, y)
        told = text_of(tab, "#tip")
        if "w0!20" in told:
            break
    assert told.startswith("w0!20state ")
    colour = tab.run(COLOUR_AT % (x + 30, y))
    hues = json.loads((PAGE / "colours.json").read_text())["hues"]
    wanted = hues[_hash("w0!20") % len(hues)]
    assert "#" + "".join(f"{each:02x}" for each in colour) == wanted
    tab.click(x, y)
    assert text_of(tab, "#panel-title") == "Job w0!20"
    assert not faults(tab)
    tab.close()


def test_the_box_of_a_job_goes_when_the_job_moves(browser: Browser, tmp_path: Path) -> None:
    """After a search, a key, a click in the panel, the box of the job that was below the pointer is not there."""
    tab = opened(browser, tmp_path, run_of("run", 400))
    box = "!document.querySelector('#tip').hidden"
    x, y = 640, 300

    def point_at_a_job() -> str:
        tab.press("0")
        for place in range(200, 400, 4):
            tab.mouse("mouseMoved", x, place)
            if tab.run(box) and "w0!" in text_of(tab, "#tip strong"):
                return text_of(tab, "#tip strong")
        raise AssertionError("there is no job")

    former = point_at_a_job()
    tab.press("/")
    tab.type("w0!3")
    tab.press("Enter")
    assert text_of(tab, "#panel-title") == "Job w0!3"
    tab.run("new Promise(done => setTimeout(done, 400))")
    assert former != "w0!3"
    assert not tab.run(box)
    tab.press("Escape")
    for key in ("ArrowRight", "+", "0"):
        point_at_a_job()
        tab.press(key)
        assert not tab.run(box), key
    # The wheel moves jobs away from below the pointer, too: the box is that of the job that is there now.
    former = point_at_a_job()
    for _ in range(3):
        tab.wheel(x, y, -200)
    tab.wheel(x, y, 700, SHIFT)
    seen = text_of(tab, "#tip strong") if tab.run(box) else ""
    tab.mouse("mouseMoved", x, y)
    assert seen == (text_of(tab, "#tip strong") if tab.run(box) else "")
    assert not faults(tab)
    tab.close()


def test_two_runs_share_the_time(browser: Browser, tmp_path: Path) -> None:
    one, other = run_of("one", 160, with_messages=False), run_of("other", 80)
    tab = opened(browser, tmp_path, one, other)
    assert text_of(tab, "#facts").startswith("one: 160 jobs")
    tab.press("/")
    tab.type("w0!9")
    tab.press("Enter")
    assert shown(tab)["run"] == "0"
    tab.run("[...document.querySelectorAll('.buttons button')].find(each => each.textContent === 'In other').click()")
    assert shown(tab) | {"t": ""} == {"t": "", "colour": "job", "run": "1", "job": "w0!9"} | (
        {"hosts": shown(tab)["hosts"]} if "hosts" in shown(tab) else {}
    )
    # What is shown is in the address, and is shown again.
    address = tab.run("location.href")
    tab.close()
    again = browser.open(address)
    again.wait("document.body && document.body.dataset.ready === 'yes'")
    assert text_of(again, "#panel-title") == "Job w0!9"
    assert again.run("location.href") == address
    assert not faults(again)
    again.close()


def test_on_a_phone_in_the_dark(browser: Browser, tmp_path: Path) -> None:
    tab = opened(browser, tmp_path, run_of("run", 160), width=390, height=760, ratio=3.0, mobile=True, dark=True)
    assert tab.run("document.documentElement.scrollWidth") == 390
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(20, 24, 31)"
    whole = span(tab)
    for kind, spread in (("touchStart", 40), ("touchMove", 60), ("touchMove", 80)):
        points = [{"x": 200 - spread, "y": 300, "id": 0}, {"x": 200 + spread, "y": 300, "id": 1}]
        tab.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)
    tab.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])
    assert span(tab) == pytest.approx(whole / 2, rel=0.05)
    assert not faults(tab)
    tab.close()


def test_the_page_can_ask_for_nothing(browser: Browser, tmp_path: Path) -> None:
    """The browser itself refuses: a script, a picture, a request."""
    tab = opened(browser, tmp_path, run_of("run", 16))
    tab.run(
        "window.refused = []; addEventListener('securitypolicyviolation', e => refused.push(e.effectiveDirective)); 0"
    )
    tab.run("fetch('https://batsim.org/').catch(() => 0).then(() => 0)")
    tab.run("document.body.append(Object.assign(new Image(), {src: 'https://batsim.org/x.png'})); 0")
    tab.run("Object.assign(document.body.appendChild(document.createElement('script')), {textContent: 'ran = 1'}); 0")
    tab.wait("refused.length >= 3")
    assert sorted(tab.run("refused")) == ["connect-src", "img-src", "script-src-elem"]
    assert tab.run("window.ran") is None
    tab.close()


@pytest.mark.minutes
@pytest.mark.parametrize("count", [5_000, 100_000])
def test_many_jobs(browser: Browser, tmp_path: Path, count: int) -> None:
    """They are there, found and shown; how soon and how smoothly, the figures in docs/howto/keep-captures.md tell."""
    tab = opened(browser, tmp_path, run_of("run", count, hosts=512))
    for turn in (-200, -200, 200, 200):
        tab.wheel(640, 300, turn)
    tab.press("/")
    tab.type(f"w0!{count - 1}")
    tab.press("Enter")
    assert text_of(tab, "#panel-title") == f"Job w0!{count - 1}"
    tab.run("document.querySelector('.messages button').click()")
    tab.wait("document.querySelector('pre').textContent !== '…'")
    assert str(count - 1) in text_of(tab, "pre")
    assert not faults(tab)
    tab.close()

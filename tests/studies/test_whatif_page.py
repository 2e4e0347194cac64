"""The report in a real browser: it opens offline, says nothing in the console, and fits a phone, a desk and paper."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from browser import Browser
from whatif_logs import log_of

from batprotocol.model import DelayProfile
from batprotocol.simulator import StaticJob, Workload
from batprotocol.studies import Study
from batprotocol.studies.whatif import Question, answer_of, page, plan_for
from batprotocol.workloads import workload_json

WITHOUT_ENGINE = True

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser("--host-resolver-rules=MAP * ~NOTFOUND") as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("report")
    question = Question(policies=("fcfs", "easy"), arrivals=(1.2,), window=43_200.0, warm_up=0.0, cool_down=0.0)
    plan = plan_for(log_of(folder / "log.swf", days=3.2), question)
    answer = answer_of(plan, Study(**plan.keys).run(folder / "runs", processes=1))
    (folder / "report.html").write_text(page(answer, f"A report {EVIL}"))
    return folder / "report.html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_it_fits_the_screen_and_the_console_stays_empty(browser: Browser, report: Path, width: int, dark: bool) -> None:
    tab = browser.open(report, width=width, height=800, mobile=width < 500, dark=dark)
    tab.wait("document.readyState === 'complete'")
    assert tab.run("document.title") == f"A report {EVIL}"
    assert tab.run("document.documentElement.scrollWidth") <= width
    wide = (
        "[...document.querySelectorAll('body *')].filter(each => each.getBoundingClientRect().right > innerWidth + 1)"
    )
    assert tab.run(f"{wide}.map(each => each.outerHTML.slice(0, 80))") == []
    ground = tab.run("getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(20, 24, 31)" if dark else "rgb(255, 255, 255)")
    assert _contrast(tab.run(COLOURS)) >= 4.5
    assert tab.events("Runtime.exceptionThrown") + tab.events("Log.entryAdded") == []
    assert tab.events("Runtime.consoleAPICalled") == []
    assert tab.run("performance.getEntriesByType('resource').length") == 0
    tab.close()


def test_figures_are_drawn_where_the_numbers_are(browser: Browser, report: Path) -> None:
    tab = browser.open(report, width=1280, height=800)
    tab.wait("document.readyState === 'complete'")
    drawn = tab.run(
        "[...document.querySelectorAll('table[data-table=mean_waiting_time] tr')].map(row => {"
        " const dot = row.querySelector('circle'), zero = row.querySelector('.zero');"
        " return dot && [row.querySelector('.number').textContent,"
        " dot.getBoundingClientRect().left + 4 - zero.getBoundingClientRect().left]; }).filter(each => each)"
    )
    assert len(drawn) == 3
    for text, apart in drawn:
        assert text.startswith("+") == (apart > 0)
    tab.close()


def test_it_is_legible_on_paper(browser: Browser, report: Path) -> None:
    tab = browser.open(report, width=1280, height=800, dark=True)
    tab.wait("document.readyState === 'complete'")
    tab.call("Emulation.setEmulatedMedia", media="print")
    assert tab.run("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert tab.run("getComputedStyle(document.body).color") == "rgb(0, 0, 0)"
    texts = "[...document.querySelectorAll('td, th, p, li, caption')]"
    smallest = f"Math.min(...{texts}.map(each => parseFloat(getComputedStyle(each).fontSize)))"
    assert tab.run(smallest) >= 11  # 8.5 points
    assert tab.run("[...document.querySelectorAll('.figure')].every(each => each.getBoundingClientRect().height >= 16)")
    printed = tab.call("Page.printToPDF", printBackground=False)
    assert base64.b64decode(printed["data"]).startswith(b"%PDF")
    tab.close()


def test_names_of_users_are_texts(browser: Browser, tmp_path: Path) -> None:
    extra = [msgspec.json.encode({"user": name}).decode() for name in (EVIL, "ada")]
    jobs = [
        StaticJob(str(n), 600.0 * n, 2, DelayProfile(1000.0), walltime=2000.0, extra_data=extra[n % 2])
        for n in range(60)
    ]
    (tmp_path / "log.json").write_text(workload_json(Workload(jobs)))
    question = Question(policies=("fcfs", "easy"), window=6000.0, warm_up=0.0, cool_down=0.0)
    plan = plan_for(str(tmp_path / "log.json"), question)
    answer = answer_of(plan, Study(**plan.keys).run(tmp_path / "runs", processes=1))
    (tmp_path / "report.html").write_text(page(answer))
    tab = browser.open(tmp_path / "report.html")
    tab.wait("document.readyState === 'complete'")
    assert tab.run("document.images.length + document.scripts.length") == 0
    assert f"user {EVIL}" in tab.run("document.body.innerText")
    assert tab.events("Runtime.exceptionThrown") + tab.events("Log.entryAdded") == []
    tab.close()


COLOURS = (
    "(() => { const found = []; for (const each of document.querySelectorAll('p, td, th, li, caption, h1, h2')) {"
    " let ground = each; const clear = 'rgba(0, 0, 0, 0)';"
    " while (getComputedStyle(ground).backgroundColor === clear && ground.parentElement)"
    " ground = ground.parentElement; if (each.textContent.trim())"
    " found.push([getComputedStyle(each).color, getComputedStyle(ground).backgroundColor]); } return found; })()"
)


def _contrast(pairs: list[list[str]]) -> float:
    """The least contrast of these texts on their grounds, by WCAG 2."""
    return min(_ratio(text, ground) for text, ground in {(text, ground) for text, ground in pairs})


def _ratio(*colours: str) -> float:
    lights = sorted(map(_light, colours))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _light(colour: str) -> float:
    parts = [int(each) / 255 for each in colour.partition("(")[2].rstrip(")").split(",")[:3]]
    linear = [each / 12.92 if each <= 0.03928 else ((each + 0.055) / 1.055) ** 2.4 for each in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

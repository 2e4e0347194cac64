"""The handbook as a site: it is built without a warning, and a real browser reads it, from files and offline.

What is built is kept for all tests of this file, whichever processes they run in.
"""

from __future__ import annotations

import fcntl
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from browser import Browser, Tab
from support import ROOT

sys.path.append(str(ROOT / "tools"))
pytest.importorskip("sphinx", reason="there is no sphinx here (pip install 'batprotocol[docs]')")

from handbook import searching, tables

WITHOUT_ENGINE = True
pytestmark = [pytest.mark.slow, pytest.mark.once]

EVENT = "reference/events/JobsKilledEvent.html"


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the pages."""
    pytest.importorskip("sphinx", reason="there is no sphinx here (pip install 'batprotocol[docs]')")
    shared = tmp_path_factory.getbasetemp()
    place = (shared.parent if shared.name.startswith("popen-") else shared) / "handbook"
    with open(f"{place}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        said = Path(f"{place}.txt")
        if not said.exists():
            command = [sys.executable, str(ROOT / "tools" / "docs.py"), "-o", str(place)]
            done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
            said.write_text(f"{done.returncode}\n{done.stdout}{done.stderr}")
    status, _, text = said.read_text().partition("\n")
    assert status == "0", text
    return place / "html"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as browser:
        yield browser


def pages(site: Path) -> list[Path]:
    return sorted(path for path in site.rglob("*.html") if path.name not in ("genindex.html", "py-modindex.html"))


def settled(tab: Tab, address: str) -> None:
    """Go to a page, and wait until it is there."""
    tab.go(address)
    tab.wait(f"location.href === {address!r} && document.readyState === 'complete'")


def unwanted(tab: Tab) -> list[str]:
    """Requests that leave the site, and what stands in the console as an error."""
    requests = [each["request"]["url"] for each in tab.events("Network.requestWillBeSent")]
    logged = [each["entry"]["text"] for each in tab.events("Log.entryAdded") if each["entry"]["level"] == "error"]
    thrown = [each["exceptionDetails"]["text"] for each in tab.events("Runtime.exceptionThrown")]
    written = [str(each["args"]) for each in tab.events("Runtime.consoleAPICalled") if each["type"] == "error"]
    return [url for url in requests if not url.startswith(("file:", "data:"))] + logged + thrown + written


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)], ids=["desk", "phone"])
def test_every_page_asks_for_nothing_and_fits(site: Path, browser: Browser, width: int, dark: bool) -> None:
    tab = browser.open(site / "index.html", width, 844, mobile=width < 600, dark=dark)
    wide, unlinked = [], []
    for page in pages(site):
        settled(tab, page.resolve().as_uri())
        if tab.run("document.scrollingElement.scrollWidth > innerWidth + 1"):
            wide.append(page.name)
        headings = "[...document.querySelectorAll('article h2, article h3')]"
        if page.name != "search.html" and tab.run(f"{headings}.some(each => !each.querySelector('a.headerlink'))"):
            unlinked.append(page.name)
    assert unwanted(tab) == []
    assert (wide, unlinked) == ([], [])
    tab.close()


def test_the_search_finds_an_event_offline(site: Path, browser: Browser) -> None:
    tab = browser.open(site / "index.html")
    tab.wait("document.readyState === 'complete'")
    tab.run("document.querySelector('.sidebar-search').focus()")
    tab.type("JobsKilledEvent")
    tab.press("Enter")
    found = tab.wait(
        "document.querySelector('#search-results li a') && document.querySelector('#search-results li a').href"
    )
    assert found.partition("?")[0].partition("#")[0].endswith(EVENT)
    settled(tab, found)
    assert tab.run("document.querySelector('h1').textContent").startswith("JobsKilledEvent")
    assert unwanted(tab) == []
    tab.close()


def test_the_search_shows_the_sentences_around_a_hit(site: Path, browser: Browser) -> None:
    tab = browser.open(f"{(site / 'search.html').resolve().as_uri()}?q=dividing+offered+load")
    tab.wait("document.querySelector('#search-results li p mark')?.textContent")
    marks = tab.run(
        "[...document.querySelectorAll('#search-results li:first-child mark')].map(each => each.textContent)"
    )
    assert "load" in [each.lower() for each in marks]
    first = tab.run("document.querySelector('#search-results li p').textContent")
    assert 30 < len(first) < 400
    assert tab.run("document.querySelectorAll('#search-results li').length") <= 20
    more = tab.run(
        "document.querySelector('#search-results ~ button')?.click(), document.querySelectorAll('li p').length"
    )
    assert more > 20
    settled(tab, f"{(site / 'search.html').resolve().as_uri()}?q=xyzzy")
    assert tab.wait("document.getElementById('search-summary').textContent") == "No page has a word of “xyzzy”."
    assert unwanted(tab) == []
    tab.close()


def test_the_texts_for_the_search_are_not_large(site: Path) -> None:
    assert (site / searching.TEXTS).stat().st_size < 2_000_000


def test_sections_have_their_anchors_and_texts() -> None:
    page = """<article><section id="top"><h1>A page<a class="headerlink" href="#top">¶</a></h1><p>One
        line.<img src="x.svg" /></p>
        <pre>a\nb</pre><section id="more"><h2>More</h2><table><tr><td>x</td><td>y</td></tr></table></section>
        <dl><dt class="sig sig-object py" id="room.Thing.do">do()</dt><dd><p>Does it.</p></dd></dl>
        </section></article>"""
    assert searching.sections(page) == [
        ("", "A page", "One line.\na\nb"),
        ("more", "More", "x · y"),
        ("room.Thing.do", "Thing.do", "do()\nDoes it."),
    ]


def colours(tab: Tab, selector: str) -> set[str]:
    return set(tab.run(f"[...document.querySelectorAll({selector!r})].map(each => getComputedStyle(each).color)"))


@pytest.mark.parametrize("dark", [False, True])
def test_prompts_commands_and_outputs_have_a_colour_each(site: Path, browser: Browser, dark: bool) -> None:
    tab = browser.open(site / "start" / "simulate.html", dark=dark)
    tab.wait("document.readyState === 'complete'")
    console = ".highlight-console pre"
    three = [colours(tab, f"{console}{part}") for part in ("", " .gp", " .go")]
    assert [len(each) for each in three] == [1, 1, 1]
    assert len(set.union(*three)) == 3
    assert colours(tab, f"{console} span:not(.gp, .go, .c1)") <= three[0] | colours(tab, f"{console} .go span")
    assert len(colours(tab, ".highlight-sh pre, .highlight-sh pre span:not(.c1)")) == 1
    tab.close()


def test_pictures_follow_the_theme(site: Path, browser: Browser) -> None:
    for dark in (False, True):
        tab = browser.open(site / "index.html", dark=dark)
        tab.wait("document.readyState === 'complete'")
        filters = tab.run("[...document.querySelectorAll('article img')].map(each => getComputedStyle(each).filter)")
        assert filters
        assert all(("invert" in each) == dark for each in filters)
        tab.close()


def test_tables_are_aligned_by_their_columns(site: Path, browser: Browser) -> None:
    tab = browser.open(site / "explanation" / "engines.html")
    tab.wait("document.readyState === 'complete'")
    left = "each => each.getBoundingClientRect().x"
    begin = tab.run(f"({left})(document.querySelector('article p'))")
    assert (
        max(abs(each - begin) for each in tab.run(f"[...document.querySelectorAll('article table')].map({left})")) < 6
    )
    described = "each => [each.textContent, getComputedStyle(each).textAlign]"
    found = tab.run(f"[...document.querySelectorAll('article tbody td')].map({described})")
    assert all(align == "left" for text, align in found if re.fullmatch(r"[A-Za-z ,]+", text))
    assert sum(align == "right" for text, align in found if text[:1].isdigit()) > 20
    tab.close()


@pytest.mark.parametrize("text", ["1,234", "0.5 s", "-3.1 %", "12.3 [11.9, 12.8]", "about 20", "3 to 7 µs"])
def test_numbers_are_known(text: str) -> None:
    assert tables.is_number(text)


@pytest.mark.parametrize("text", ["2 engines in C", "easy", "", "4.2, JSON"])
def test_other_cells_are_text(text: str) -> None:
    assert not tables.is_number(text)


def test_tabs_and_copying(site: Path, browser: Browser) -> None:
    tab = browser.open(site / EVENT)
    tab.wait("document.readyState === 'complete' && !!document.querySelector('.copybtn')")
    shown = "[...document.querySelectorAll('.sd-tab-content')].map(each => getComputedStyle(each).display !== 'none')"
    labels = "[...document.querySelectorAll('.sd-tab-set > label')]"
    names = tab.run(f"{labels}.map(each => each.textContent.trim())")
    assert "JSON" in names
    for index, name in enumerate(names):
        tab.run(f"{labels}[{index}].click()")
        assert tab.run(shown) == [each == index for each in range(len(names))], name
    blocks = "document.querySelectorAll('article div.highlight pre')"
    assert tab.run(f"{blocks}.length") == tab.run("document.querySelectorAll('article .copybtn').length")
    tab.run(f"{labels}[{names.index('JSON')}].click()")
    tab.run("document.addEventListener('copy', () => { window.copied = document.activeElement.value })")
    button = "[...document.querySelectorAll('.sd-tab-content .copybtn')].find(each => each.getClientRects().length > 0)"
    tab.run(f"{button}.scrollIntoView({{block: 'center', behavior: 'instant'}})")
    middle = "place => [place.x + place.width / 2, place.y + place.height / 2]"
    place = None
    while place != (place := tab.run(f"({middle})({button}.getBoundingClientRect())")):
        time.sleep(0.1)  # the page may still be moving to where it scrolls
    tab.click(*place)
    assert '"JobsKilledEvent"' in tab.wait("window.copied")
    assert unwanted(tab) == []
    tab.close()


def test_dark_and_light(site: Path, browser: Browser) -> None:
    light = browser.open(site / "index.html")
    dark = browser.open(site / "index.html", dark=True)
    ground = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).slice(0, 3).reduce((a, b) => a + +b, 0)"
    for tab in (light, dark):
        tab.wait("document.readyState === 'complete'")
    assert light.run(ground) > 600 > 150 > dark.run(ground)
    light.run("document.querySelector('.theme-toggle').click()")
    assert light.run("document.body.dataset.theme") in ("dark", "light")
    for tab in (light, dark):
        tab.close()


def test_a_printed_page_is_its_text(site: Path, browser: Browser) -> None:
    tab = browser.open(site / EVENT)
    tab.wait("document.readyState === 'complete' && !!document.querySelector('.copybtn')")
    tab.call("Emulation.setEmulatedMedia", media="print")
    gone = (".sidebar-drawer", ".toc-drawer", ".mobile-header", ".copybtn", "a.headerlink", ".related-pages")
    for selector in gone:
        hidden = f"[...document.querySelectorAll({selector!r})].every(each => each.getClientRects().length === 0)"
        assert tab.run(hidden), selector
    assert tab.run("[...document.querySelectorAll('.sd-tab-content')].every(each => each.getClientRects().length > 0)")
    assert tab.run("document.scrollingElement.scrollWidth <= innerWidth")
    tab.close()


def test_programs_read_it_as_plain_text(site: Path) -> None:
    listed = re.findall(r"\]\(([^)]+)\)", (site / "llms.txt").read_text(encoding="utf-8"))
    assert [name for name in listed if not (site / name).exists()] == []
    texts = {page.relative_to(site).with_suffix(".txt").as_posix() for page in pages(site)} - {"search.txt"}
    assert {name for name in texts if not (site / name).exists()} == set()
    whole = (site / "llms-full.txt").read_text(encoding="utf-8")
    assert all((site / name).read_text(encoding="utf-8").strip() in whole for name in texts)
    assert "JobsKilledEvent" in whole
    assert "<div" not in whole

"""All pages as plain text, beside them and in one file, and `llms.txt`, which lists them: for programs that read.

`llms.txt` has the form of https://llmstxt.org: a title, a sentence, and links by section.
"""

from __future__ import annotations

import shutil
from pathlib import Path

__all__ = ["write"]

_SENTENCE = (
    "The protocol between Batsim, the simulator of batch schedulers, and the schedulers that it drives: the meaning of "
    "each event, the reaction of Batsim to it, and a library for it in Python."
)
_SECTIONS = {"start": "Start", "howto": "How to", "reference": "Reference", "explanation": "Explanation"}


def write(text: Path, site: Path) -> None:
    """Put the pages that Sphinx wrote as text into the site.

    Args:
        text: the folder with a `.txt` for each page.
        site: the folder with a `.html` for each page.
    """
    pages = sorted(text.rglob("*.txt"))
    whole: list[str] = []
    links: dict[str, list[str]] = {section: [] for section in _SECTIONS}
    for page in pages:
        name = page.relative_to(text).as_posix()
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(page, site / name)
        content = page.read_text(encoding="utf-8").strip()
        whole.append(f"{'#' * 78}\n# {name}\n\n{content}\n")
        section = name.partition("/")[0]
        if section in links:
            links[section].append(f"- [{_title(content)}]({name})")
    lines = ["# batprotocol", "", f"> {_SENTENCE}", "", "All of it in one file: [llms-full.txt](llms-full.txt)", ""]
    for section, title in _SECTIONS.items():
        lines += [f"## {title}", "", *links[section], ""]
    (site / "llms.txt").write_text("\n".join(lines), encoding="utf-8")
    (site / "llms-full.txt").write_text("\n".join(whole), encoding="utf-8")


def _title(content: str) -> str:
    return content.partition("\n")[0].strip("* ")

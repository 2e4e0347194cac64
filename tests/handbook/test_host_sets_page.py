"""The table of host sets on their page is what the rules make of the texts in it."""

from __future__ import annotations

import re

from stories import DOCS

from batprotocol.conversation.hostsets import read_hosts

WITHOUT_ENGINE = True


def test_the_table_of_texts() -> None:
    page = (DOCS / "explanation" / "host-sets.md").read_text(encoding="utf-8")
    page = page[page.index("| text |") : page.index("`hosts.misread` is a warning")]
    rows = re.findall(r"^\| (`[^|]+) \| ([^|]+) \| (?:`(hosts\.\w+)`)?.*\|$", page, re.M)
    judged = 0
    for texts, read, rule in rows:
        for text in re.findall(r"`([^`]*)`", texts):
            judged += 1
            hosts = read_hosts(text)
            if rule == "hosts.syntax":
                assert hosts.fault, text
            elif rule == "hosts.misread":
                assert hosts.misread, text
                assert f"**{hosts.text}**" == read, text
            elif rule == "hosts.order":
                assert not hosts.ascending, text
                assert not hosts.misread, text
            elif not rule:
                assert (hosts.text, hosts.misread, hosts.ascending) == (read, False, True)
    assert judged > 9

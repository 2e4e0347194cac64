"""The pages of events and of what they hold: all that can be told of them from the code, as Markdown.

`docstrings` and `mentions` read the library's sources, `places` knows what is on which page. `facts` tells of an event
who says it and when, `ages` since when, `history` what it was called before, `rules` what it can break, `fields` and
`things` what it holds, in the `units` that no source tells. `examples` shows recorded messages; `python` and `calls`
write what makes them; `layout` is how all that looks. Nothing here must know of Sphinx, so that tests need none.
"""

from handbook.events.examples import example
from handbook.events.facts import event, events
from handbook.events.fields import event_fields
from handbook.events.history import event_history
from handbook.events.places import names, names_on
from handbook.events.rules import event_rules
from handbook.events.things import thing

__all__ = ["event", "event_fields", "event_history", "event_rules", "events", "example", "names", "names_on", "thing"]

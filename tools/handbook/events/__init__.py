"""The pages of events and values: everything that the code documents about them, as Markdown.

`docstrings` and `mentions` read the sources of the library. `places` has the page of each name. `facts` shows who sends
an event and when, `ages` since when it exists, `history` its names in older protocols, `rules` the rules that it can
break. `fields` and `things` show the content, with the `units` that no source has. `examples` shows recorded messages.
`python` and `calls` write the code that makes them, and `layout` is the form of all this. No module may depend on
Sphinx, so that tests run without it.
"""

from handbook.events.examples import example
from handbook.events.facts import event, events
from handbook.events.fields import event_fields
from handbook.events.history import event_history
from handbook.events.places import names, names_on
from handbook.events.rules import event_rules
from handbook.events.things import thing

__all__ = ["event", "event_fields", "event_history", "event_rules", "events", "example", "names", "names_on", "thing"]

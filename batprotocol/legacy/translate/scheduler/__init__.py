"""For a scheduler of Batsim 1 to 4: the state, the events for it, and its decisions; `translation` uses them."""

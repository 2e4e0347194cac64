"""For a Batsim of version 1 to 4: the state, its reports, and the wishes of the component; `translation` uses them."""

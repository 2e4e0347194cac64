"""For a Batsim of version 1 to 4: what is remembered, what is told of it, what is wanted, put together in `translation`."""

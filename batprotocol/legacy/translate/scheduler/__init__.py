"""For a scheduler of Batsim 1 to 4: what is remembered, what it is told, what it decides, put together in `translation`."""

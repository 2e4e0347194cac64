"""For a scheduler of Batsim 1 to 4: what is remembered, told and decided; `translation` puts it together."""

"""What may be said when in JSON: how Batsim 1 to 4 read the members of each event, and what they abort on."""

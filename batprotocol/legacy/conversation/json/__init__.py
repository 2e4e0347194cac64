"""The rules of conversations in JSON: how Batsim 1 to 4 read the members of each event, and where they abort."""

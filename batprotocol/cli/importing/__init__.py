"""`batproto import`: `logs` opens logs and writes what is made of them, `report` prints what was taken."""

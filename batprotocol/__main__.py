"""`python -m batprotocol`, which is `batproto` where that command is not installed. It must hold no code of its own."""

from __future__ import annotations

from batprotocol.cli.main import main

if __name__ == "__main__":
    main()

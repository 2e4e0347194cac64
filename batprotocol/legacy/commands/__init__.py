"""The commands of the older protocols, and how `batproto` reads, shows and judges their messages."""

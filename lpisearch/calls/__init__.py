"""Methods common to all kinds of library: local, sharded and remote."""

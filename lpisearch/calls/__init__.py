"""Methods common to all kinds of library: local and remote."""

"""`lpisearch evaluate` and its subcommands: measure search and classification."""

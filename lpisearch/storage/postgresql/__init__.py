"""The library in a database of PostgreSQL, for many users on many machines at once."""

"""PostgreSQL store, for many users on many machines."""

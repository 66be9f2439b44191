"""SQLite store."""

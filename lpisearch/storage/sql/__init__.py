"""Code shared by all SQL stores.

Where SQLite and PostgreSQL say a thing in words of their own, `dialects` has both.
"""

"""What is equal in every store that speaks SQL: tables, and what is read from and written to them.

Where SQLite and PostgreSQL say a thing in words of their own, `dialects` has both.
"""

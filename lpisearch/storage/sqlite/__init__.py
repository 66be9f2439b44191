"""The library on disk: the only room that knows SQLAlchemy and Alembic."""

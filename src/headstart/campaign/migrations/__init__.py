"""Revisions of the schema, which Alembic runs when an older database is opened."""

"""How Alembic reaches the database: by the connection, and in the transaction, that the store hands over."""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()

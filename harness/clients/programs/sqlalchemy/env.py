"""How Alembic reaches the database: as main.py does."""

from alembic import context
from sqlalchemy import create_engine

with create_engine("postgresql+psycopg://").connect() as connection:
    context.configure(connection=connection, transaction_per_migration=True)
    with context.begin_transaction():
        context.run_migrations()

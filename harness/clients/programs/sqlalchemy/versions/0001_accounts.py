"""Accounts and transfers between them."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade():
    op.create_table(
        "account",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("balance", sa.Integer, nullable=False),
    )
    op.create_table(
        "transfer",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("debit", sa.Integer, sa.ForeignKey("account.id")),
        sa.Column("credit", sa.Integer, sa.ForeignKey("account.id")),
        sa.Column("amount", sa.Integer),
    )

"""A note for each transfer."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade():
    op.add_column("transfer", sa.Column("note", sa.Text))

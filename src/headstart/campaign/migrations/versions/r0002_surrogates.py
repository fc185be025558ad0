"""The cache of fitted surrogates."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Add the table of surrogates, one a campaign."""
    op.create_table(
        "surrogate",
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), primary_key=True),
        sa.Column("last_observation", sa.Integer, nullable=False),
        sa.Column("rows", sa.Integer, nullable=False),
        sa.Column("fitted_rows", sa.Integer, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
    )

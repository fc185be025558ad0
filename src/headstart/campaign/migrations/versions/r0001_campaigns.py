"""Campaigns, suggestions and observations."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Create the first three tables."""
    # Written out, not taken from the schema: a revision stays what it was when the schema moves on.
    moment = sa.DateTime(timezone=True)
    op.create_table(
        "campaign",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("name", sa.Text, nullable=False, unique=True),
        sa.Column("problem", sa.JSON, nullable=False),
        sa.Column("settings", sa.JSON, nullable=False),
        sa.Column("made_at", moment, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "suggestion",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("task", sa.JSON, nullable=False),
        sa.Column("inputs", sa.JSON, nullable=False),
        sa.Column("mean", sa.Double, nullable=False),
        sa.Column("sd", sa.Double, nullable=False),
        sa.Column("lower", sa.Double, nullable=False),
        sa.Column("upper", sa.Double, nullable=False),
        sa.Column("score", sa.Double, nullable=False),
        sa.Column("score_is", sa.Text, nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("closed_at", moment),
        sa.Column("reason", sa.Text),
        sa.Column("made_at", moment, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.CheckConstraint("state IN ('pending', 'observed', 'withdrawn')", name="suggestion_state"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "observation",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("suggestion_id", sa.Integer, sa.ForeignKey("suggestion.id")),
        sa.Column("is_archive", sa.Boolean, nullable=False),
        sa.Column("task", sa.JSON, nullable=False),
        sa.Column("inputs", sa.JSON, nullable=False),
        sa.Column("outcome", sa.Double, nullable=False),
        sa.Column("mean", sa.Double),
        sa.Column("sd", sa.Double),
        sa.Column("lower", sa.Double),
        sa.Column("upper", sa.Double),
        sa.Column("retracted_at", moment),
        sa.Column("reason", sa.Text),
        sa.Column("made_at", moment, nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_suggestion_campaign_id", "suggestion", ["campaign_id"])
    op.create_index("ix_observation_campaign_id", "observation", ["campaign_id"])
    counts = sa.text("retracted_at IS NULL")
    op.create_index(
        "one_outcome", "observation", ["suggestion_id"], unique=True, sqlite_where=counts, postgresql_where=counts
    )

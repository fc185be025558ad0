"""Work that is queued, pictures of what is believed, files on their way in, and who took a suggestion on."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def _origin() -> list[sa.Column[Any]]:
    return [
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("author", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
    ]


def upgrade() -> None:
    """Add three tables, and columns to suggestions and observations."""
    op.create_table(
        "job",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("arguments", sa.JSON, nullable=False),
        sa.Column("key", sa.Text),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("share", sa.Double),
        sa.Column("remark", sa.Text),
        sa.Column("result", sa.JSON),
        sa.Column("error", sa.Text),
        sa.Column("worker", sa.Text),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("beat_at", sa.DateTime(timezone=True)),
        sa.Column("ended_at", sa.DateTime(timezone=True)),
        *_origin(),
        sa.CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')", name="job_state"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_campaign_id", "job", ["campaign_id"])
    op.create_index("ix_job_state", "job", ["state"])
    op.create_index("one_job_a_key", "job", ["campaign_id", "key"], unique=True)
    op.create_table(
        "belief",
        sa.Column("id", sa.Integer, primary_key=True),
        sa.Column("campaign_id", sa.Integer, sa.ForeignKey("campaign.id"), nullable=False),
        sa.Column("task", sa.Text, nullable=False),
        sa.Column("last_observation", sa.Integer, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
        *_origin(),
        sqlite_autoincrement=True,
    )
    op.create_index("one_belief", "belief", ["campaign_id", "task", "last_observation"], unique=True)
    op.create_table(
        "upload",
        sa.Column("id", sa.Text, primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        *_origin(),
    )
    op.add_column("suggestion", sa.Column("accepted_at", sa.DateTime(timezone=True)))
    op.add_column("suggestion", sa.Column("accepted_by", sa.Text))
    op.add_column("observation", sa.Column("key", sa.Text))
    op.create_index("one_observation_a_key", "observation", ["campaign_id", "key"], unique=True)

"""What we know: the problem, and the experiments so far as validated arrays.

A `Problem` says what each column of a table is for. `rows_from_frame` checks a table against it
and hands over `Rows`: numpy arrays in the table's own units, with each label of a general input
replaced by its code, which `Levels` keeps. Scaling is the model's business.

    table -> as_frame -> numbers, labels -> Rows(inputs, codes, objective), Levels

Before that, `read_table` makes a table of a file, `survey` says what is in it and what looks wrong, and `infer_roles`
states the problem as far as the user did not.

    file -> grid -> header, cells -> table -> roles -> Problem
"""

from headstart.tasks.columns import Table
from headstart.tasks.exports import check_target, write_table
from headstart.tasks.files import naming, read_table
from headstart.tasks.levels import Levels
from headstart.tasks.problem import Problem
from headstart.tasks.roles import Roles, infer_roles
from headstart.tasks.rows import Rows, Task, rows_from_frame, task_codes
from headstart.tasks.slips import (
    far_outcomes,
    warn_of_candidates_outside,
    warn_of_far_outcomes,
    warn_of_far_rows,
    warn_of_missed_bounds,
)
from headstart.tasks.survey import Finding, Survey, survey

__all__ = [
    "Finding",
    "Levels",
    "Problem",
    "Roles",
    "Rows",
    "Survey",
    "Table",
    "Task",
    "check_target",
    "far_outcomes",
    "infer_roles",
    "naming",
    "read_table",
    "rows_from_frame",
    "survey",
    "task_codes",
    "warn_of_candidates_outside",
    "warn_of_far_outcomes",
    "warn_of_far_rows",
    "warn_of_missed_bounds",
    "write_table",
]

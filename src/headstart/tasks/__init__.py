"""What we know: the problem, and the experiments so far as validated arrays.

A `Problem` says what each column of a table is for. `rows_from_frame` checks a table against it
and hands over `Rows`: numpy arrays in the table's own units, with each label of a general input
replaced by its code, which `Levels` keeps. Scaling is the model's business.

    table -> as_frame -> numbers, labels -> Rows(inputs, codes, objective), Levels
"""

from headstart.tasks.columns import Table
from headstart.tasks.levels import Levels
from headstart.tasks.problem import Bounds, Goal, Problem
from headstart.tasks.rows import Rows, Task, rows_from_frame, task_codes

__all__ = [
    "Bounds",
    "Goal",
    "Levels",
    "Problem",
    "Rows",
    "Table",
    "Task",
    "rows_from_frame",
    "task_codes",
]

"""The schema, one numbered step after another. A step that has been released is never edited.

migration  what a step is, and how it reads in the SQL of each engine
step_1     projects, prompts, resources and tasks
step_2     tokens, details of tasks, the history of arguments, and row-level security
step_3     row-level security for search
step_4     history and trash
step_5     the words by which items are found
step_6     claims, notes and cancelled tasks, and the keys of repeated calls
step_7     links between items
step_8     row-level security of what search keeps of tasks
step_9     how much the store keeps of what each user wrote
step_10    the values of arguments go with their prompt
step_11    sessions of browsers
step_12    row-level security of tasks by the projects of a token
"""

from satchel.storage.migrations import (
    step_1,
    step_2,
    step_3,
    step_4,
    step_5,
    step_6,
    step_7,
    step_8,
    step_9,
    step_10,
    step_11,
    step_12,
)
from satchel.storage.migrations.migration import for_postgres as for_postgres
from satchel.storage.migrations.migration import for_sqlite as for_sqlite

MIGRATIONS = (
    step_1.STEP,
    step_2.STEP,
    step_3.STEP,
    step_4.STEP,
    step_5.STEP,
    step_6.STEP,
    step_7.STEP,
    step_8.STEP,
    step_9.STEP,
    step_10.STEP,
    step_11.STEP,
    step_12.STEP,
)

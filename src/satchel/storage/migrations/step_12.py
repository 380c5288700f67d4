"""Schema 12: row-level security of tasks and of what hangs on them, confined to the projects of a limited token."""

from satchel.storage.migrations.migration import Migration

# A task may be blocked by one that the caller may not see. `open_blockers` tells that it is, and nothing else of it.
# On PostgreSQL a view reads its tables as their owner, past row-level security, and so has conditions of its own; the
# planner joins it with the query that reads it, which it could not do with a function.
STEP = Migration(
    both="",
    sqlite="""
create view open_blockers as
    select b.task, b.blocker from task_blocks b join tasks o on o.number = b.blocker where o.completed_at is null;
""",
    postgres="""
create view open_blockers as
    select b.task, b.blocker from task_blocks b join tasks o on o.number = b.blocker
    where o.completed_at is null and (
        not (select row_security_active('tasks'))
        or b.owner = (select nullif(current_setting('satchel.user', true), '')) and (
            (select current_setting('satchel.projects', true)) = '*'
            or exists (
                select from tasks t join projects p on p.number = t.project
                where t.number = b.task
                    and p.name = any (string_to_array((select current_setting('satchel.projects', true)), ','))
            )
        )
    );

-- Every search reads what was written since the last clean-up of the index, by any user: the less, the less it tells.
alter index search_items_words set (gin_pending_list_limit = 64);
alter index search_items_sample set (gin_pending_list_limit = 64);

-- For a caller who may enter all projects, each of these ends at the comparison with '*', which is made once a query.
alter policy tasks_owner on tasks using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and ((select current_setting('satchel.projects', true)) = '*' or project in (select number from projects))
);
alter policy task_tags_owner on task_tags using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from tasks where tasks.number = task_tags.task)
    )
);
alter policy task_texts_owner on task_texts using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from tasks where tasks.number = task_texts.task)
    )
);
alter policy task_claims_owner on task_claims using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from tasks where tasks.number = task_claims.task)
    )
);
alter policy task_notes_owner on task_notes using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from tasks where tasks.number = task_notes.task)
    )
);
alter policy task_blocks_owner on task_blocks using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from tasks where tasks.number = task_blocks.task)
    )
);
-- A blocker that the caller may not see stays, whatever is done to the others.
create policy task_blocks_kept on task_blocks as restrictive for delete using (
    (select current_setting('satchel.projects', true)) = '*'
    or exists (select from tasks where tasks.number = task_blocks.blocker)
);
alter policy links_visible on links using (
    case
        when task is null then (select current_setting('satchel.projects', true)) = '*'
            or project in (select number from projects)
        else owner = (select nullif(current_setting('satchel.user', true), '')) and (
            (select current_setting('satchel.projects', true)) = '*'
            or exists (select from tasks where tasks.number = links.task)
        )
    end
);
-- By the project that a task was in at that change, as its history is told.
alter policy revisions_visible on revisions using (
    (kind <> 'task' or owner = (select nullif(current_setting('satchel.user', true), '')))
    and ((select current_setting('satchel.projects', true)) = '*' or project in (select number from projects))
);
alter policy trash_visible on trash using (
    (kind <> 'task' or owner = (select nullif(current_setting('satchel.user', true), '')))
    and ((select current_setting('satchel.projects', true)) = '*' or project in (select number from projects))
);
-- The key of a value is PROJECT/PROMPT, or LIBRARY:PROMPT for a prompt in a library, which every token may use.
alter policy argument_values_owner on argument_values using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    and (
        (select current_setting('satchel.projects', true)) = '*'
        or strpos(split_part(prompt, '/', 1), ':') > 0
        or split_part(prompt, '/', 1) = any (string_to_array((select current_setting('satchel.projects', true)), ','))
    )
);
""",
)

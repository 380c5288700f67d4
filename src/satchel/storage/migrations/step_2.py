"""Schema 2: tokens, details of tasks, the history of arguments, and row-level security."""

from satchel.storage.database import Tx
from satchel.storage.migrations.migration import Fill, Migration

_BATCH = 500  # tasks
_TASKS = """
    select number, owner, title, coalesce(description, '') from tasks
    where number > :after and number <= :last order by number limit :batch
"""
_FOLD = "insert into task_texts (task, owner, title, description) values (:task, :owner, :title, :description)"


def _fold_tasks(tx: Tx, after: int, last: int) -> int | None:
    """Make the tasks that are there already findable by their texts; engines fold only ASCII, or by their locale."""
    tasks = tx.all(_TASKS, after=after, last=last, batch=_BATCH)
    tx.many(
        _FOLD,
        [
            {"task": number, "owner": owner, "title": title.casefold(), "description": description.casefold()}
            for number, owner, title, description in tasks
        ],
    )
    return tasks[-1][0] if tasks else None


# For a team: tokens, tasks with tags, priorities and blockers, the history of arguments, and row-level security.
STEP = Migration(
    both="""
create table tokens (
    number {number},
    id {text} not null constraint tokens_id unique,
    hash {text} not null constraint tokens_hash unique,
    owner {text} not null,
    is_read_only {integer} not null,
    projects {text},
    created_at {text} not null,
    expires_at {text},
    revoked_at {text}
) {strict};

alter table tasks add column project {integer} references projects (number) on delete set null;
alter table tasks add column priority {integer} not null default 2;
alter table tasks add column due {text};

create table task_texts (
    task {integer} primary key references tasks (number) on delete cascade,
    owner {text} not null,
    title {text} not null,
    description {text} not null
) {strict};
create index task_texts_by_owner on task_texts (owner, task);

create table task_tags (
    task {integer} not null references tasks (number) on delete cascade,
    owner {text} not null,
    tag {text} not null,
    primary key (task, tag)
) {strict};
create index task_tags_by_tag on task_tags (owner, tag, task);

create table task_blocks (
    task {integer} not null references tasks (number) on delete cascade,
    blocker {integer} not null references tasks (number) on delete cascade,
    owner {text} not null,
    primary key (task, blocker)
) {strict};
create index task_blocks_by_blocker on task_blocks (blocker);

create table argument_values (
    owner {text} not null,
    prompt {text} not null,
    argument {text} not null,
    value {text} not null,
    used_at {text} not null,
    primary key (owner, prompt, argument, value)
) {strict};
""",
    sqlite="""
-- The latest changes, for other processes. On PostgreSQL they are notifications.
create table changes (
    number integer primary key autoincrement,
    what text not null
) strict;
""",
    postgres="""
-- Row-level security, beside the where clauses, for a role that owns nothing: it sees the tasks of the user, and the
-- projects that the token allows. The settings last for a transaction; before the first one they are null, and after
-- it '', so neither may match a row. In a sub-select they are read once a query.
-- Policies check that a row refers only to rows that are visible, because foreign keys ignore row-level security.
alter table tasks enable row level security;
create policy tasks_owner on tasks using (owner = (select nullif(current_setting('satchel.user', true), '')));
alter table task_tags enable row level security;
create policy task_tags_owner on task_tags
    using (owner = (select nullif(current_setting('satchel.user', true), '')))
    with check (exists (select from tasks where number = task and tasks.owner = task_tags.owner));
alter table task_blocks enable row level security;
create policy task_blocks_owner on task_blocks
    using (owner = (select nullif(current_setting('satchel.user', true), '')))
    with check (
        exists (select from tasks where number = task and tasks.owner = task_blocks.owner)
        and exists (select from tasks where number = blocker and tasks.owner = task_blocks.owner)
    );
alter table task_texts enable row level security;
create policy task_texts_owner on task_texts
    using (owner = (select nullif(current_setting('satchel.user', true), '')))
    with check (exists (select from tasks where number = task and tasks.owner = task_texts.owner));
alter table argument_values enable row level security;
create policy argument_values_owner on argument_values
    using (owner = (select nullif(current_setting('satchel.user', true), '')));

alter table projects enable row level security;
create policy projects_allowed on projects using (
    (select current_setting('satchel.projects', true)) = '*'
    or name = any (string_to_array((select current_setting('satchel.projects', true)), ','))
);
alter table prompts enable row level security;
create policy prompts_allowed on prompts using (
    (select current_setting('satchel.projects', true)) = '*' or project in (select number from projects)
);
alter table prompt_tags enable row level security;
create policy prompt_tags_allowed on prompt_tags
    using ((select current_setting('satchel.projects', true)) = '*' or project in (select number from projects))
    with check (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (select from prompts where number = prompt and prompts.project = prompt_tags.project)
    );
alter table resources enable row level security;
create policy resources_allowed on resources using (
    (select current_setting('satchel.projects', true)) = '*' or project in (select number from projects)
);
-- Not prompt_texts: `like` uses no index under row-level security, and its hits are read only through prompts.

-- Tells "of another user" from "does not exist", and nothing else. `begin atomic` binds the body to our table now: a
-- name that is resolved at the call could be a caller's temporary view, which would run as the owner.
create function satchel_is_task(wanted text) returns boolean language sql stable security definer
    set search_path = pg_catalog, pg_temp
    begin atomic
        select exists (select from tasks where id = wanted);
    end;
revoke execute on function satchel_is_task from public;
""",
    indexes=(
        "create index tasks_by_project on tasks (project, owner)",
        """
        create index tasks_next on tasks (owner, priority desc, (due is null), due, created_at, number)
            where completed_at is null
        """,
        """
        create index tasks_next_of_project
            on tasks (owner, project, priority desc, (due is null), due, created_at, number)
            where completed_at is null and project is not null
        """,
        "create index tasks_done on tasks (owner, completed_at, number) where completed_at is not null",
        # Only the beginning: PostgreSQL indexes no key beyond 2,704 bytes.
        "create index tasks_by_title on tasks (owner, substr(title, 1, 60))",
        "create index prompts_in_order on prompts (project, number)",
        "create index resources_in_order on resources (project, number)",
    ),
    fills=(Fill("tasks", _fold_tasks),),
)

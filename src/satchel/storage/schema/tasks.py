"""Tasks with their tags, blockers, claims and notes, and the links between items."""

from satchel.storage.schema.migration import Statements

# Row-level security of a table whose rows belong to a task. For a caller who may enter all projects, the comparison
# with '*' decides; it runs once per query.
_OF_A_TASK = """
alter table TABLE enable row level security;
create policy TABLE_owner on TABLE
    using (owner = {user} and ({all_projects} or exists (select from tasks where tasks.number = TABLE.task)))
    with check (exists (select from tasks where number = task and tasks.owner = TABLE.owner));
"""


def _secure(*tables: str) -> str:
    return "".join(_OF_A_TASK.replace("TABLE", table) for table in tables)


TASKS = Statements(
    both="""
-- `completed_at` is the time at which a task was closed, cancelled tasks included. The `parent` of a subtask stays,
-- like a blocker, when that task is deleted or purged.
create table tasks (
    number {number},
    id {text} not null constraint tasks_id unique,
    owner {text} not null,
    project {integer} references projects (number) on delete set null,
    title {text} not null,
    description {text},
    priority {integer} not null default 2,
    due {text},
    parent {integer},
    review_at {text},
    completed_at {text},
    is_cancelled {integer} not null default 0,
    created_at {text} not null,
    updated_at {text} not null,
    deleted_at {text},
    version {integer} not null default 1
) {strict};
create index tasks_recent on tasks (owner, created_at, number) where deleted_at is null;
create index tasks_open on tasks (owner, created_at, number) where completed_at is null and deleted_at is null;
create index tasks_by_project on tasks (project, owner);
create index tasks_next on tasks (owner, priority desc, (due is null), due, created_at, number)
    where completed_at is null and deleted_at is null;
create index tasks_next_of_project on tasks (owner, project, priority desc, (due is null), due, created_at, number)
    where completed_at is null and deleted_at is null and project is not null;
create index tasks_done on tasks (owner, completed_at, number)
    where completed_at is not null and deleted_at is null;
create index tasks_cancelled on tasks (owner, completed_at, number) where is_cancelled = 1 and deleted_at is null;
create index tasks_by_parent on tasks (parent, owner) where parent is not null and deleted_at is null;
create index tasks_in_review on tasks (owner) where review_at is not null and deleted_at is null;
-- Only the beginning of the title: PostgreSQL indexes no key beyond 2,704 bytes.
create index tasks_by_title on tasks (owner, substr(title, 1, 60)) where deleted_at is null;
create index tasks_deleted on tasks (deleted_at) where deleted_at is not null;

-- Folded text of tasks that are not deleted.
create table task_texts (
    task {integer} primary key references tasks (number) on delete cascade,
    owner {text} not null,
    title {text} not null,
    description {text} not null,
    notes {text} not null default ''
) {strict};
create index task_texts_by_owner on task_texts (owner, task);

create table task_tags (
    task {integer} not null references tasks (number) on delete cascade,
    owner {text} not null,
    tag {text} not null,
    primary key (task, tag)
) {strict};
create index task_tags_by_tag on task_tags (owner, tag, task);

-- A blocker that was deleted stays, to block the task again when it comes back. One that was purged stays too, because
-- the old versions of the task are kept as differences from it.
create table task_blocks (
    task {integer} not null references tasks (number) on delete cascade,
    blocker {integer} not null,
    owner {text} not null,
    primary key (task, blocker)
) {strict};
create index task_blocks_by_blocker on task_blocks (blocker);
""",
    # `is_open` is null for a deleted or purged blocker. A caller who may not see a blocker learns only this from
    # the view.
    sqlite="""
create view blockers as
    select b.task, b.blocker, (
        select case when o.deleted_at is null then o.completed_at is null end from tasks o where o.number = b.blocker
    ) as is_open from task_blocks b;
""",
    postgres=_secure("task_texts", "task_tags")
    + """
alter table tasks enable row level security;
create policy tasks_owner on tasks
    using (owner = {user} and ({all_projects} or project in (select number from projects)));
alter table task_blocks enable row level security;
create policy task_blocks_owner on task_blocks
    using (owner = {user} and ({all_projects} or exists (select from tasks where tasks.number = task_blocks.task)))
    with check (
        exists (select from tasks where number = task and tasks.owner = task_blocks.owner)
        and exists (select from tasks where number = blocker and tasks.owner = task_blocks.owner)
    );
-- A blocker that the caller may not see stays, whatever happens to the others.
create policy task_blocks_kept on task_blocks as restrictive for delete
    using ({all_projects} or exists (select from tasks where tasks.number = task_blocks.blocker));

-- A view reads its tables as their owner, past row-level security, and so has conditions of its own. A blocker is
-- looked up by its key: with a join, a plan made for empty tables reads all open tasks for each row.
create view blockers as
    select b.task, b.blocker, (
        select case when o.deleted_at is null then o.completed_at is null end from tasks o where o.number = b.blocker
    ) as is_open from task_blocks b
    where not (select row_security_active('tasks'))
        or b.owner = {user} and ({all_projects} or exists (
            select from tasks t join projects p on p.number = t.project
            where t.number = b.task and p.deleted_at is null and p.name = any ({projects})
        ));

-- Tells "of another user" from "does not exist", and nothing else. `begin atomic` binds the body to our table now: a
-- name that is resolved at the call could be a caller's temporary view, which would run as the owner.
create function satchel_is_task(wanted text) returns boolean language sql stable security definer
    set search_path = pg_catalog, pg_temp
    begin atomic
        select exists (select from tasks where id = wanted and deleted_at is null);
    end;
revoke execute on function satchel_is_task from public;
""",
)

CLAIMS_AND_NOTES = Statements(
    both="""
-- The last claim of each task. It has ended if `until` is past or empty; the row stays for its fencing number.
-- `former_key` is the holder from whom the task was taken over, until that holder is told.
create table task_claims (
    task {integer} primary key references tasks (number) on delete cascade,
    owner {text} not null,
    holder {text} not null,
    holder_key {text} not null,
    until {text} not null,
    fence {integer} not null,
    former_key {text} not null default '',
    taken_at {text} not null default ''
) {strict};
create index task_claims_by_owner on task_claims (owner, until);
create index task_claims_taken on task_claims (owner, former_key) where former_key <> '';

create table task_notes (
    number {number},
    task {integer} not null references tasks (number) on delete cascade,
    owner {text} not null,
    author {integer} not null references authors (number),
    at {text} not null,
    text {text} not null
) {strict};
create index task_notes_by_task on task_notes (task, number);
""",
    postgres=_secure("task_claims", "task_notes"),
)

# A link leads from a prompt, a document or a task to the target of a URI in its text, which need not exist. A name in
# a URI belongs to the project of the item with that text.
LINKS = Statements(
    both="""
create table links (
    number {number},
    prompt {integer} references prompts (number) on delete cascade,
    document {integer} references documents (number) on delete cascade,
    task {integer} references tasks (number) on delete cascade,
    project {integer},
    owner {text},
    part {text} not null,
    to_kind {text} not null,
    to_key {text} not null,
    constraint links_one_source check (
        (prompt is not null and document is null and task is null and owner is null and project is not null)
        or (prompt is null and document is not null and task is null and owner is null and project is not null)
        or (prompt is null and document is null and task is not null and owner is not null and project is null)
    )
) {strict};
create index links_of_prompts on links (prompt) where prompt is not null;
create index links_of_documents on links (document) where document is not null;
create index links_of_tasks on links (task) where task is not null;
create index links_to on links (to_kind, to_key, owner, project);
""",
    postgres="""
alter table links enable row level security;
create policy links_visible on links
    using (
        case
            when task is null then {all_projects} or project in (select number from projects)
            else owner = {user} and ({all_projects} or exists (select from tasks where tasks.number = links.task))
        end
    )
    with check (
        exists (select from prompts where number = prompt and prompts.project = links.project)
        or exists (select from documents where number = document and documents.project = links.project)
        or exists (select from tasks where number = task and tasks.owner = links.owner)
    );
""",
)

"""Schema 6: claims, notes and cancelled tasks, and the keys of repeated calls."""

from satchel.storage.migrations.migration import Migration

# Claims and notes refer to a task by its number alone: a task that is deleted and brought back keeps its notes, and its
# fencing number goes on. They go when the task is removed for good, which is when its revisions are gone before it
# leaves the trash. With anything that is removed for good go the older answers of repeated calls, which may quote it.
STEP = Migration(
    both="""
-- `completed_at` stays the time at which a task was closed, so that what asks for open tasks need not know this column.
alter table tasks add column is_cancelled {integer} not null default 0;

-- The last claim of a task. It has ended where `until` is past or empty; the row stays for its fence.
create table task_claims (
    task {integer} primary key,
    owner {text} not null,
    holder {text} not null,
    holder_key {text} not null,
    until {text} not null,
    fence {integer} not null
) {strict};
create index task_claims_by_owner on task_claims (owner, until);

create table task_notes (
    number {number},
    task {integer} not null,
    owner {text} not null,
    author {integer} not null references authors (number),
    at {text} not null,
    text {text} not null
) {strict};
create index task_notes_by_task on task_notes (task, number);

create table retry_keys (
    owner {text} not null,
    tool {text} not null,
    retry_key {text} not null,
    digest {text} not null,
    answer {bytes} not null,
    at {text} not null,
    constraint retry_keys_retry_key primary key (owner, tool, retry_key)
) {strict};
create index retry_keys_by_age on retry_keys (owner, at);
""",
    sqlite="""
create trigger trash_removed after delete on trash
when not exists (select 1 from revisions where kind = old.kind and item = old.item) begin
    delete from task_notes where old.kind = 'task' and task = old.item;
    delete from task_claims where old.kind = 'task' and task = old.item;
    delete from retry_keys where at <= old.deleted_at;
end;
""",
    postgres="""
alter table task_claims enable row level security;
create policy task_claims_owner on task_claims
    using (owner = (select nullif(current_setting('satchel.user', true), '')))
    with check (exists (select from tasks where number = task and tasks.owner = task_claims.owner));
alter table task_notes enable row level security;
create policy task_notes_owner on task_notes
    using (owner = (select nullif(current_setting('satchel.user', true), '')))
    with check (exists (select from tasks where number = task and tasks.owner = task_notes.owner));
alter table retry_keys enable row level security;
create policy retry_keys_owner on retry_keys
    using (owner = (select nullif(current_setting('satchel.user', true), '')));

create function satchel_trash_removed() returns trigger language plpgsql as $$
begin
    if not exists (select from revisions where kind = old.kind and item = old.item) then
        if old.kind = 'task' then
            delete from task_notes where task = old.item;
            delete from task_claims where task = old.item;
        end if;
        delete from retry_keys where at <= old.deleted_at;
    end if;
    return null;
end
$$;
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_trash_removed set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
revoke execute on function satchel_trash_removed from public;
create trigger trash_removed after delete on trash for each row execute function satchel_trash_removed();
""",
    indexes=("create index tasks_cancelled on tasks (owner, completed_at, number) where is_cancelled = 1",),
)

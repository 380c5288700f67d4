"""The schema, one numbered step after another. A step that has been released is never edited.

Words in braces stand for what the engines write differently. A unique constraint is named TABLE_COLUMN after its
last column, because both engines can report it by that name when they refuse a row.
"""

from collections.abc import Callable

from msgspec import Struct

from satchel.storage.database import Tx


class Migration(Struct, frozen=True):
    """One step: what both engines do, then what each does alone, and at last what no SQL can say."""

    both: str
    sqlite: str = ""
    postgres: str = ""
    finish: Callable[[Tx], None] = lambda _tx: None


FIRST = Migration(
    both="""
create table settings (
    name {text} primary key,
    value {text} not null
) {strict};

create table projects (
    number {number},
    id {text} not null constraint projects_id unique,
    name {text} not null constraint projects_name unique,
    created_at {text} not null,
    updated_at {text} not null,
    version {integer} not null default 1
) {strict};

create table prompts (
    number {number},
    id {text} not null constraint prompts_id unique,
    project {integer} not null references projects (number) on delete cascade,
    name {text} not null,
    title {text} not null,
    description {text},
    arguments {text},
    content {text} not null,
    created_at {text} not null,
    updated_at {text} not null,
    version {integer} not null default 1,
    constraint prompts_name unique (project, name),
    constraint prompts_title unique (project, title)
) {strict};
create index prompts_recent on prompts (project, updated_at, number);

create table prompt_tags (
    prompt {integer} not null references prompts (number) on delete cascade,
    project {integer} not null,
    tag {text} not null,
    primary key (prompt, tag)
) {strict};
create index prompt_tags_by_tag on prompt_tags (project, tag, prompt);

-- Folded text in a table of its own: scanning it is two to three times faster than scanning wide rows.
create table prompt_texts (
    prompt {integer} primary key references prompts (number) on delete cascade,
    title {text} not null,
    content {text} not null,
    is_indexed {integer} not null
) {strict};

create table resources (
    number {number},
    id {text} not null constraint resources_id unique,
    project {integer} not null references projects (number) on delete cascade,
    name {text} not null,
    uri {text} not null,
    description {text},
    mime_type {text} not null,
    content {text},
    data {bytes},
    created_at {text} not null,
    updated_at {text} not null,
    version {integer} not null default 1,
    constraint resources_name unique (project, name),
    constraint resources_uri unique (project, uri),
    constraint resources_one_content check ((content is null) <> (data is null))
) {strict};

create table tasks (
    number {number},
    id {text} not null constraint tasks_id unique,
    owner {text} not null,
    title {text} not null,
    description {text},
    completed_at {text},
    created_at {text} not null,
    updated_at {text} not null,
    version {integer} not null default 1
) {strict};
create index tasks_recent on tasks (owner, created_at, number);
create index tasks_open on tasks (owner, created_at, number) where completed_at is null;
""",
    sqlite="""
create index prompt_texts_unindexed on prompt_texts (prompt) where is_indexed = 0;

-- Contentless: the index points at prompts by number and stores no text again.
create virtual table prompt_index using fts5 (
    title, content, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
);
create trigger prompt_texts_added after insert on prompt_texts begin
    insert into prompt_index (rowid, title, content)
    values (new.prompt, new.title, case when new.is_indexed then new.content else '' end);
end;
create trigger prompt_texts_changed after update on prompt_texts begin
    delete from prompt_index where rowid = old.prompt;
    insert into prompt_index (rowid, title, content)
    values (new.prompt, new.title, case when new.is_indexed then new.content else '' end);
end;
create trigger prompt_texts_gone after delete on prompt_texts begin
    delete from prompt_index where rowid = old.prompt;
end;
""",
    postgres="""
-- Not compressed: these texts are read by searches far more often than they are written.
alter table prompt_texts alter column content set storage external;

-- Trigrams where the extension is available; without it the same queries scan.
do $$
begin
    create extension if not exists pg_trgm;
    create index prompt_texts_trigrams on prompt_texts using gin (title gin_trgm_ops, content gin_trgm_ops)
        with (gin_pending_list_limit = 512);
exception when others then
    raise notice 'pg_trgm is not to be had (%), searches will scan', sqlerrm;
end
$$;
""",
)


def _fold_tasks(tx: Tx) -> None:
    """Make the tasks that are there already findable by their texts; engines fold only ASCII, or by their locale."""
    sql = "insert into task_texts (task, owner, title, description) values (:task, :owner, :title, :description)"
    tasks = tx.all("select number, owner, title, coalesce(description, '') from tasks")
    tx.many(
        sql,
        [
            {"task": number, "owner": owner, "title": title.casefold(), "description": description.casefold()}
            for number, owner, title, description in tasks
        ],
    )


# For a team: tokens, tasks with tags, priorities and blockers, the history of arguments, and row-level security.
SECOND = Migration(
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
create index tasks_by_project on tasks (project, owner);
create index tasks_next on tasks (owner, priority desc, (due is null), due, created_at, number)
    where completed_at is null;
create index tasks_next_of_project on tasks (owner, project, priority desc, (due is null), due, created_at, number)
    where completed_at is null and project is not null;
create index tasks_done on tasks (owner, completed_at, number) where completed_at is not null;
-- Only the beginning: PostgreSQL indexes no key beyond 2,704 bytes.
create index tasks_by_title on tasks (owner, substr(title, 1, 60));

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

create index prompts_in_order on prompts (project, number);
create index resources_in_order on resources (project, number);

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
    finish=_fold_tasks,
)

# Row-level security for the folded texts of prompts too, and the one function that searches past it.
THIRD = Migration(
    both="",
    postgres=r"""
alter table prompt_texts enable row level security;
create policy prompt_texts_allowed on prompt_texts using (
    (select current_setting('satchel.projects', true)) = '*' or exists (select from prompts where number = prompt)
);

-- Under row-level security `like` uses no index, because it is not leakproof, so that search runs as the owner. It
-- returns of a project only what the policies on projects and prompts would show, and no text. PL/pgSQL plans for each
-- text: one plan for all would be wrong either for common words or for rare ones.
create function satchel_prompts_containing(wanted bigint, folded text)
    returns table (number bigint, updated_at text) language plpgsql stable security definer
    set plan_cache_mode = force_custom_plan
    as $$
declare
    allowed constant text := current_setting('satchel.projects', true);
    pattern constant text := '%' || regexp_replace(folded, '([\\%_])', '\\\1', 'g') || '%';
begin
    if allowed = '*' or exists (
        select from projects where projects.number = wanted and name = any (string_to_array(allowed, ','))
    ) then
        if length(folded) < 3 then
            return query select p.number, p.updated_at from prompt_texts t join prompts p on p.number = t.prompt
                where p.project = wanted and (strpos(t.title, folded) > 0 or strpos(t.content, folded) > 0);
        else
            return query select p.number, p.updated_at from prompt_texts t join prompts p on p.number = t.prompt
                where p.project = wanted and (t.title like pattern or t.content like pattern);
        end if;
    end if;
end
$$;
-- PL/pgSQL resolves names at the call: in our schema, and only last in a caller's temporary one.
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_prompts_containing set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
revoke execute on function satchel_prompts_containing from public;
""",
)

# History: every change with its author, the states before it, and what was deleted. The tables begin empty: of what was
# there before, the first change after this migration keeps the state that it replaces.
FOURTH = Migration(
    both="""
-- Empty texts instead of null, so that the unique constraint holds for authors without a token or a client.
create table authors (
    number {number},
    user_id {text} not null,
    token {text} not null,
    client {text} not null,
    client_version {text} not null,
    contract {text} not null,
    caller {text} not null,
    constraint authors_caller unique (user_id, token, client, client_version, contract, caller)
) {strict};

create table revisions (
    number {number},
    kind {text} not null,
    item {integer} not null,
    version {integer} not null,
    action {text} not null,
    at {text} not null,
    author {integer} references authors (number),
    project {integer},
    owner {text},
    undoes {integer},
    constraint revisions_version unique (kind, item, version)
) {strict};
create index revisions_by_project on revisions (project, number);
create index revisions_by_author on revisions (author, number);
create index revisions_undone on revisions (undoes) where undoes is not null;

-- The state of a version that is no longer the newest: its difference from the next version, or of the last version of
-- a deleted item the whole.
create table revision_states (
    revision {integer} primary key references revisions (number) on delete cascade,
    state {bytes} not null
) {strict};

create table trash (
    kind {text} not null,
    item {integer} not null,
    id {text} not null constraint trash_id unique,
    project {integer},
    owner {text},
    name {text} not null,
    title {text} not null,
    version {integer} not null,
    deleted_at {text} not null,
    blocks {text} not null default '',
    primary key (kind, item)
) {strict};
create index trash_by_name on trash (kind, project, name);
create index trash_by_age on trash (deleted_at);

-- A deleted project keeps its row, and so everything in it, under a name that no project can have.
alter table projects add column deleted_at {text};
""",
    postgres="""
alter table revisions enable row level security;
create policy revisions_visible on revisions using (
    case when kind = 'task' then owner = (select nullif(current_setting('satchel.user', true), ''))
    else (select current_setting('satchel.projects', true)) = '*' or project in (select number from projects) end
);
alter table revision_states enable row level security;
create policy revision_states_visible on revision_states
    using (exists (select from revisions where number = revision));
-- Not authors: they name users and clients, as tokens do, and nothing of what was changed.
alter table trash enable row level security;
create policy trash_visible on trash using (
    case when kind = 'task' then owner = (select nullif(current_setting('satchel.user', true), ''))
    else (select current_setting('satchel.projects', true)) = '*' or project in (select number from projects) end
);

-- One step of pruning, as in pruning.py: the only way for an application role to remove revisions.
create function satchel_prune(
    history_before text, versions bigint, trash_before text, after bigint, most bigint
) returns table (reached bigint, removed bigint) language plpgsql security definer as $$
declare
    most_items constant bigint := most / 10;
    is_past boolean;
    gone text;  -- the kind of what is removed, and the numbers
    numbers bigint[];
    project_number bigint;
    is_in_trash boolean := true;
begin
    select max(w.number), bool_or(w.at < history_before and w.action <> 'known') into reached, is_past
        from (select number, at, action from revisions where number > after order by number limit most) w;
    if is_past then
        delete from revisions r where r.number > after and r.number <= reached and r.at < history_before
            and exists (
                select from revisions n
                where n.kind = r.kind and n.item = r.item and n.version > r.version and n.action <> 'delete'
                order by n.version limit 1 offset versions - 1
            );
        get diagnostics removed = row_count;
        return next;
        return;
    end if;
    reached := after;
    select kind, array[item], item into gone, numbers, project_number from trash
        where deleted_at < trash_before order by deleted_at, kind, item limit 1 for update skip locked;
    if gone is null then
        return;
    end if;
    if gone = 'project' then
        is_in_trash := false;
        gone := 'prompt';
        numbers := array(select number from prompts where project = project_number order by number limit most_items);
        if numbers = '{}' then
            gone := 'resource';
            numbers := array(
                select number from resources where project = project_number order by number limit most_items
            );
        end if;
        if numbers = '{}' then
            is_in_trash := true;
            foreach gone in array array['prompt', 'resource'] loop
                numbers := array(
                    select item from trash
                    where kind = gone and project = project_number order by item limit most_items
                );
                exit when numbers <> '{}';
            end loop;
        end if;
        if numbers = '{}' then
            -- The foreign key would do this by itself, of all tasks in one go.
            update tasks set project = null where number in (
                select number from tasks where project = project_number order by number limit most
            );
            get diagnostics removed = row_count;
            if removed > 0 then
                return next;
                return;
            end if;
            gone := 'project';
            numbers := array[project_number];
        end if;
    end if;
    delete from revisions where number in (
        select number from revisions where kind = gone and item = any (numbers) order by number limit most
    );
    get diagnostics removed = row_count;
    if removed < most then
        if is_in_trash then
            delete from trash where kind = gone and item = any (numbers);
        end if;
        if gone = 'project' then
            delete from projects where number = project_number;
        elsif not is_in_trash and gone = 'prompt' then
            delete from prompts where number = any (numbers);
        elsif not is_in_trash then
            delete from resources where number = any (numbers);
        end if;
        removed := removed + cardinality(numbers);
    end if;
    return next;
end
$$;
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_prune set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
revoke execute on function satchel_prune from public;
""",
)

MIGRATIONS = (FIRST, SECOND, THIRD, FOURTH)


def for_sqlite(migration: Migration) -> str:
    """A step in the SQL of SQLite."""
    return _write(migration.both + migration.sqlite, _SQLITE)


def for_postgres(migration: Migration) -> str:
    """A step in the SQL of PostgreSQL."""
    return _write(migration.both + migration.postgres, _POSTGRES)


_SQLITE = {
    # Without autoincrement, SQLite reuses the numbers of deleted rows.
    "{number}": "integer primary key autoincrement",
    "{text}": "text",
    "{integer}": "integer",
    "{bytes}": "blob",
    "{strict}": "strict",
}
_POSTGRES = {
    "{number}": "bigint generated by default as identity primary key",
    # Sorted by code point, as in SQLite, regardless of the locale of the cluster.
    "{text}": 'text collate "C"',
    "{integer}": "bigint",
    "{bytes}": "bytea",
    "{strict}": "",
}


def _write(text: str, words: dict[str, str]) -> str:
    for word, spelling in words.items():
        text = text.replace(word, spelling)
    return text

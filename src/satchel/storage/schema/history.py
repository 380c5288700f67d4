"""Users and their actions: tokens, sessions, authors, revisions, usage, repeated calls, and recent changes."""

import re

from satchel.storage import pruning
from satchel.storage.schema.migration import Statements

_TABLES = ("prompts", "documents", "tasks", "projects")  # the tables of items


def _spell(sql: str) -> str:
    """Replace the parameters of a statement with variables of a function."""
    return re.sub(r":(\w+)", r"\1", sql)


_PRUNE_STEPS = "".join(
    f"""
    {_spell(sql)};
    get diagnostics removed = row_count;
    if removed > 0 then
        return next;
        return;
    end if;
"""
    for sql in pruning.STEPS
)

TOKENS_AND_SESSIONS = Statements(
    both="""
create table tokens (
    number {number},
    id {text} not null constraint tokens_id unique,
    hash {text} not null constraint tokens_hash unique,
    name {text} not null default '',
    owner {text} not null,
    is_read_only {integer} not null,
    projects {text},
    created_at {text} not null,
    expires_at {text},
    revoked_at {text}
) {strict};

-- A session of a browser, or a code that opens one once. It ends with the token that opened it.
create table sessions (
    number {number},
    id {text} not null constraint sessions_id unique,
    hash {text} not null constraint sessions_hash unique,
    kind {text} not null,
    token {text},
    owner {text} not null,
    is_read_only {integer} not null,
    projects {text},
    created_at {text} not null,
    used_at {text} not null,
    expires_at {text} not null
) {strict};
create index sessions_by_expiry on sessions (expires_at);
create index sessions_by_owner on sessions (owner, number);
""",
    postgres="""
-- A user sees their own sessions. Before a caller is known, a session is looked up by the hash of its secret.
alter table sessions enable row level security;
create policy sessions_owner on sessions using (owner = {user} or ({user} is null and {all_projects}));
""",
)

REVISIONS = Statements(
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
    session {text} not null default '',
    constraint authors_caller unique (user_id, token, client, client_version, contract, caller, session)
) {strict};

-- `size` is by how many bytes the change made the store grow. They count as its author's for as long as history has the
-- revision, as does an item that it added. A note on a task makes no version: its row has the task's present one.
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
    size {integer} not null default 0,
    note {integer} not null default 0,
    constraint revisions_version unique (kind, item, version, note)
) {strict};
create index revisions_by_author on revisions (author, number);
create index revisions_by_owner on revisions (project, owner, number);
create index revisions_by_visit on revisions (author, project, number);
create index revisions_undone on revisions (undoes) where undoes is not null;

-- The state of a version that was replaced, as its difference from the next version. A version without one has the same
-- state as the next; the newest one is the item itself, deleted or not.
create table revision_states (
    revision {integer} primary key references revisions (number) on delete cascade,
    state {bytes} not null
) {strict};

-- The answers of calls with a key.
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
    postgres="""
-- Authors have no policy: they name users and clients, as tokens do, and say nothing about what was changed.
-- A task's revisions are visible by the project that it was in at that change, as its history says.
alter table revisions enable row level security;
create policy revisions_visible on revisions using (
    (kind <> 'task' or owner = {user}) and ({all_projects} or project in (select number from projects))
);
alter table revision_states enable row level security;
create policy revision_states_visible on revision_states
    using (exists (select from revisions where number = revision));
alter table retry_keys enable row level security;
create policy retry_keys_owner on retry_keys using (owner = {user});
""",
)

# Tables must exist before their triggers.
REMOVAL = Statements(
    # Removing an item removes its history, except for the deletion, and older answers to retries, which may quote it.
    sqlite="".join(
        f"""
create trigger {table}_removed after delete on {table} begin
    delete from revisions where kind = '{table[:-1]}' and item = old.number
        and not (action = 'delete' and version = old.version);
    delete from retry_keys where at <= old.deleted_at;
end;
"""
        for table in _TABLES
    ),
    postgres="""
create function satchel_item_removed() returns trigger language plpgsql security definer as $$
begin
    delete from revisions where kind = rtrim(tg_table_name, 's') and item = old.number
        and not (action = 'delete' and version = old.version);
    delete from retry_keys where at <= old.deleted_at;
    return null;
end
$$;
"""
    + "".join(
        f"""
create trigger {table}_removed after delete on {table} for each row execute function satchel_item_removed();
"""
        for table in _TABLES
    )
    + f"""
-- Prunes one step, as pruning.py does: an application role removes revisions only through this.
create function satchel_prune(
    kept_since text, kept_versions bigint, trashed_before text, after bigint, most bigint
) returns table (reached bigint, removed bigint) language plpgsql security definer as $$
declare
    few constant bigint := most / 10;
begin
    reached := ({_spell(pruning.WINDOW)});
    if reached is not null then
        {_spell(pruning.HISTORY)};
        get diagnostics removed = row_count;
        return next;
        return;
    end if;
    reached := after;
    {_PRUNE_STEPS}
end
$$;
""",
)

USAGE = Statements(
    both="""
-- How much the store keeps of what a user wrote: the sum of all parts of an owner.
create table user_usage (
    owner {text} not null,
    part {integer} not null,
    items {integer} not null,
    bytes {integer} not null,
    primary key (owner, part)
) {strict};
""",
    sqlite="""
create trigger revisions_counted after insert on revisions when new.author is not null begin
    insert into user_usage (owner, part, items, bytes)
        select user_id, 0, new.action = 'add', new.size from authors where number = new.author
        on conflict (owner, part) do update set items = items + excluded.items, bytes = bytes + excluded.bytes;
end;
create trigger revisions_discounted after delete on revisions when old.author is not null begin
    update user_usage set items = items - (old.action = 'add'), bytes = bytes - old.size
        where owner = (select user_id from authors where number = old.author) and part = 0;
end;
create trigger task_notes_counted after insert on task_notes begin
    insert into user_usage (owner, part, items, bytes) values (new.owner, 0, 0, octet_length(new.text))
        on conflict (owner, part) do update set bytes = bytes + excluded.bytes;
end;
create trigger task_notes_discounted after delete on task_notes begin
    update user_usage set bytes = bytes - octet_length(old.text) where owner = old.owner and part = 0;
end;
""",
    postgres="""
alter table user_usage enable row level security;
create policy user_usage_owner on user_usage using (owner = {user});

-- Several parts for each owner, by process: one row would make all writers of a user wait for each other's commit.
-- As the owner of the tables, because an application role may only read what is counted.
create function satchel_count_revision() returns trigger language plpgsql security definer as $$
declare
    direction constant bigint := case when tg_op = 'INSERT' then 1 else -1 end;
    revision revisions;
begin
    revision := case when tg_op = 'INSERT' then new else old end;
    insert into user_usage as u (owner, part, items, bytes)
        select a.user_id, pg_backend_pid() % 16, direction * (revision.action = 'add')::int, direction * revision.size
        from authors a where a.number = revision.author
        on conflict (owner, part) do update set items = u.items + excluded.items, bytes = u.bytes + excluded.bytes;
    return null;
end
$$;
create function satchel_count_note() returns trigger language plpgsql security definer as $$
declare
    direction constant bigint := case when tg_op = 'INSERT' then 1 else -1 end;
    note task_notes;
begin
    note := case when tg_op = 'INSERT' then new else old end;
    insert into user_usage as u (owner, part, items, bytes)
        values (note.owner, pg_backend_pid() % 16, 0, direction * octet_length(note.text))
        on conflict (owner, part) do update set bytes = u.bytes + excluded.bytes;
    return null;
end
$$;
create trigger revisions_counted after insert or delete on revisions
    for each row execute function satchel_count_revision();
create trigger task_notes_counted after insert or delete on task_notes
    for each row execute function satchel_count_note();
""",
)

# The latest changes, for processes that watch the store.
CHANGES = Statements(
    sqlite="""
create table changes (
    number integer primary key autoincrement,
    what text not null
) strict;
""",
    postgres="""
-- A watching process reads the rows that its last snapshot did not show. It cannot go by numbers: a lower number may
-- become visible after a higher one.
create table changes (
    number bigint generated by default as identity primary key,
    transaction xid8 not null default pg_current_xact_id(),
    what text not null
);
create index changes_transaction on changes (transaction);

-- An application role reads and adds changes; it removes those of transactions before another one only through this.
create function satchel_forget_changes(before text) returns void language sql security definer
    set search_path = pg_catalog, pg_temp
    begin atomic
        delete from changes where number in (
            select number from changes where transaction < before::xid8 for update skip locked
        );
    end;
revoke execute on function satchel_forget_changes from public;
""",
)

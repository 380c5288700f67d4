"""Schema 4: history and trash."""

from satchel.storage.migrations.migration import Migration

# History: every change with its author, the states before it, and what was deleted. The tables begin empty: of what was
# there before, the first change after this migration keeps the state that it replaces.
STEP = Migration(
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

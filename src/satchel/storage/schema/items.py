"""Settings, projects, prompts, documents, and values of prompts' arguments."""

from satchel.storage.schema.migration import Statements

SETTINGS = Statements(
    both="""
create table settings (
    name {text} primary key,
    value {text} not null
) {strict};
""",
    postgres="""
-- SQLite's name for strpos, so that one text serves both engines.
create function instr(text, text) returns integer language sql immutable strict parallel safe
    return strpos($1, $2);
""",
)

# On PostgreSQL, row-level security backs up the where clauses for a role that owns nothing. Policies also check that a
# row refers only to visible rows, because foreign keys ignore row-level security.
PROJECTS = Statements(
    both="""
-- What is deleted keeps its row, with `deleted_at`, until it is purged. What is in a deleted project stays as it is.
create table projects (
    number {number},
    id {text} not null constraint projects_id unique,
    name {text} not null,
    created_at {text} not null,
    updated_at {text} not null,
    deleted_at {text},
    version {integer} not null default 1,
    review {text}
) {strict};
create unique index projects_name on projects (name) where deleted_at is null;
create index projects_deleted on projects (deleted_at) where deleted_at is not null;
""",
    postgres="""
alter table projects enable row level security;
create policy projects_allowed on projects
    using ({all_projects} or deleted_at is null and name = any ({projects}));
""",
)

PROMPTS = Statements(
    both="""
create table prompts (
    number {number},
    id {text} not null constraint prompts_id unique,
    project {integer} not null references projects (number) on delete cascade,
    name {text} not null,
    title {text} not null,
    description {text},
    arguments {text},
    uses {integer} not null default 0,
    last_used {text},
    expires {text},
    replaced_by {text},
    created_at {text} not null,
    updated_at {text} not null,
    deleted_at {text},
    version {integer} not null default 1,
    content {text} not null
) {strict};
create unique index prompts_name on prompts (project, name) where deleted_at is null;
create unique index prompts_title on prompts (project, title) where deleted_at is null;
create index prompts_recent on prompts (project, updated_at, number) where deleted_at is null;
create index prompts_used on prompts (project, uses, updated_at, number) where deleted_at is null;
create index prompts_dated on prompts (project, expires)
    where deleted_at is null and expires is not null;
create index prompts_in_order on prompts (project, number);
create index prompts_deleted on prompts (deleted_at) where deleted_at is not null;
create index prompts_deleted_names on prompts (project, name) where deleted_at is not null;

-- `project` is null while the prompt is deleted, so that lists of tags and by tag need not look at the prompts.
create table prompt_tags (
    prompt {integer} not null references prompts (number) on delete cascade,
    project {integer},
    tag {text} not null,
    primary key (prompt, tag)
) {strict};
create index prompt_tags_by_tag on prompt_tags (project, tag, prompt);

-- Names of versions, such as production. Pruning keeps a version with a label.
create table prompt_labels (
    prompt {integer} not null references prompts (number) on delete cascade,
    label {text} not null,
    version {integer} not null,
    primary key (prompt, label)
) {strict};

-- Folded text of prompts that are not deleted. In a table of its own, because scanning it is two to three times faster
-- than scanning wide rows.
create table prompt_texts (
    prompt {integer} primary key references prompts (number) on delete cascade,
    title {text} not null,
    content {text} not null,
    is_indexed {integer} not null
) {strict};
""",
    sqlite="""
create index prompt_texts_unindexed on prompt_texts (prompt) where is_indexed = 0;

-- Contentless: the index refers to prompts by number and does not store their text again.
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
    postgres=r"""
-- Searches read these texts far more often than anyone writes them, and read thousands in one search: so they are not
-- compressed, and up to a page they are in the row itself.
alter table prompt_texts alter column content set storage external;
alter table prompt_texts set (toast_tuple_target = 8160);

-- Trigrams where the extension is available; without it the same queries scan.
do $$
begin
    create extension if not exists pg_trgm;
    create index prompt_texts_trigrams on prompt_texts using gin (title gin_trgm_ops, content gin_trgm_ops)
        with (gin_pending_list_limit = 512);
exception when others then
    raise notice 'pg_trgm is not available (%), searches will scan', sqlerrm;
end
$$;

alter table prompts enable row level security;
create policy prompts_allowed on prompts
    using ({all_projects} or project in (select number from projects));
alter table prompt_tags enable row level security;
create policy prompt_tags_allowed on prompt_tags
    using (
        {all_projects} or project in (select number from projects)
        or project is null and exists (select from prompts where number = prompt)
    )
    with check ({all_projects} or exists (
        select from prompts where number = prompt and prompts.project = coalesce(prompt_tags.project, prompts.project)
    ));
alter table prompt_labels enable row level security;
create policy prompt_labels_allowed on prompt_labels
    using ({all_projects} or exists (select from prompts where number = prompt));
alter table prompt_texts enable row level security;
create policy prompt_texts_allowed on prompt_texts
    using ({all_projects} or exists (select from prompts where number = prompt));

-- Under row-level security `like` uses no index, because it is not leakproof, so this search runs as the owner. It
-- returns of a project only what the policies on projects and prompts would show, and no text. PL/pgSQL plans for each
-- text: one plan for all would be wrong either for common words or for rare ones.
-- For a caller who may not enter all projects it reads only the texts of this one: the index has the texts of all, so
-- that its time would tell what is in the others.
create function satchel_prompts_containing(wanted bigint, folded text)
    returns table (number bigint, updated_at text) language plpgsql stable security definer
    set plan_cache_mode = force_custom_plan
    as $$
declare
    allowed constant text := current_setting('satchel.projects', true);
    pattern constant text := '%' || regexp_replace(folded, '([\\%_])', '\\\1', 'g') || '%';
begin
    if allowed = '*' and length(folded) >= 3 then
        return query select p.number, p.updated_at from prompt_texts t join prompts p on p.number = t.prompt
            where p.project = wanted and (t.title like pattern or t.content like pattern);
    elsif allowed = '*' or exists (
        select from projects
        where projects.number = wanted and deleted_at is null and name = any (string_to_array(allowed, ','))
    ) then
        -- `offset 0` makes the planner start with the prompts of the project.
        return query select p.number, p.updated_at from prompts p, lateral (
            select from prompt_texts t where t.prompt = p.number
            and (strpos(t.title, folded) > 0 or strpos(t.content, folded) > 0) offset 0
        ) as t where p.project = wanted;
    end if;
end
$$;
""",
)

DOCUMENTS = Statements(
    both="""
create table documents (
    number {number},
    id {text} not null constraint documents_id unique,
    project {integer} not null references projects (number) on delete cascade,
    name {text} not null,
    uri {text} not null,
    description {text},
    mime_type {text} not null,
    expires {text},
    replaced_by {text},
    created_at {text} not null,
    updated_at {text} not null,
    deleted_at {text},
    version {integer} not null default 1,
    content {text},
    data {bytes},
    constraint documents_one_content check ((content is null) <> (data is null))
) {strict};
create unique index documents_name on documents (project, name) where deleted_at is null;
create unique index documents_uri on documents (project, uri) where deleted_at is null;
create index documents_in_order on documents (project, number);
create index documents_dated on documents (project, expires)
    where deleted_at is null and expires is not null;
create index documents_deleted on documents (deleted_at) where deleted_at is not null;
create index documents_deleted_names on documents (project, name) where deleted_at is not null;
""",
    postgres="""
alter table documents enable row level security;
create policy documents_allowed on documents
    using ({all_projects} or project in (select number from projects));
""",
)

# The column `prompt` holds PROJECT/PROMPT, or LIBRARY:PROMPT for a prompt in a library. Names have neither : nor /, so
# a project's values lie between PROJECT/ and PROJECT0, since 0 is the character after /.
ARGUMENT_VALUES = Statements(
    both="""
create table argument_values (
    owner {text} not null,
    prompt {text} not null,
    argument {text} not null,
    value {text} not null,
    used_at {text} not null,
    primary key (owner, prompt, argument, value)
) {strict};
create index argument_values_by_prompt on argument_values (prompt);
""",
    sqlite="""
create trigger prompts_gone after update of deleted_at on prompts when new.deleted_at is not null begin
    delete from argument_values
    where prompt = (select name from projects where number = old.project) || '/' || old.name;
end;
create trigger projects_gone after update of deleted_at on projects when new.deleted_at is not null begin
    delete from argument_values where prompt >= old.name || '/' and prompt < old.name || '0';
end;
create trigger projects_renamed after update of name on projects
when old.deleted_at is null and new.name <> old.name begin
    update or replace argument_values set prompt = new.name || substr(prompt, length(old.name) + 1)
    where prompt >= old.name || '/' and prompt < old.name || '0';
end;
""",
    postgres="""
alter table argument_values enable row level security;
-- Every token may use the libraries.
create policy argument_values_owner on argument_values using (
    owner = {user} and (
        {all_projects} or strpos(split_part(prompt, '/', 1), ':') > 0
        or split_part(prompt, '/', 1) = any ({projects})
    )
);

-- These run as the owner, because they change the values of all users.
create function satchel_prompt_gone() returns trigger language plpgsql security definer as $$
begin
    delete from argument_values
    where prompt = (select name from projects where number = old.project) || '/' || old.name;
    return null;
end
$$;
create function satchel_project_gone() returns trigger language plpgsql security definer as $$
begin
    delete from argument_values where prompt >= old.name || '/' and prompt < old.name || '0';
    return null;
end
$$;
create function satchel_project_renamed() returns trigger language plpgsql security definer as $$
begin
    delete from argument_values where prompt >= new.name || '/' and prompt < new.name || '0';
    update argument_values set prompt = new.name || substr(prompt, length(old.name) + 1)
    where prompt >= old.name || '/' and prompt < old.name || '0';
    return null;
end
$$;
create trigger prompts_gone after update of deleted_at on prompts for each row
    when (new.deleted_at is not null) execute function satchel_prompt_gone();
create trigger projects_gone after update of deleted_at on projects for each row
    when (new.deleted_at is not null) execute function satchel_project_gone();
create trigger projects_renamed after update of name on projects for each row
    when (old.deleted_at is null and new.name <> old.name)
    execute function satchel_project_renamed();

-- Removes old values for upkeep, as completion.py does: an application role reaches all users only through this.
create function satchel_forget_values(libraries text[], before text) returns bigint
    language plpgsql security definer as $$
declare
    removed bigint;
begin
    delete from argument_values v where case
        when strpos(split_part(v.prompt, '/', 1), ':') > 0
            then libraries is not null and v.used_at < before and not v.prompt = any (libraries)
        else not exists (
            select from projects o join prompts p on p.project = o.number
            where o.name = substr(v.prompt, 1, greatest(strpos(v.prompt, '/') - 1, 0))
                and p.name = substr(v.prompt, strpos(v.prompt, '/') + 1)
                and o.deleted_at is null and p.deleted_at is null
        ) end;
    get diagnostics removed = row_count;
    return removed;
end
$$;
""",
)

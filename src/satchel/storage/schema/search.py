"""The word index for searching prompts, documents and tasks."""

from satchel.storage.schema.migration import Statements

# It has no deleted items. A space is a part of the index to which a search can be limited: the prompts or documents of
# a project, or the tasks of a user in a project. Its number is part of every indexed word, so a search never reads the
# words of other spaces.
SEARCH = Statements(
    both="""
-- `within` is the project of tasks, 0 for none. It is no reference, because tasks outlive their project.
create table search_spaces (
    number {number},
    kind {text} not null,
    project {integer} references projects (number) on delete cascade,
    owner {text},
    within {integer},
    constraint search_spaces_project unique (project, kind),
    constraint search_spaces_within unique (owner, within)
) {strict};

create table search_items (
    number {number},
    space {integer} not null references search_spaces (number) on delete cascade,
    prompt {integer} references prompts (number) on delete cascade,
    document {integer} references documents (number) on delete cascade,
    task {integer} references tasks (number) on delete cascade,
    name_key {text} not null,
    title_key {text} not null,
    words {text} not null
) {strict};
-- Partial, or each item would be in three indexes and not one.
create unique index search_items_prompt on search_items (prompt) where prompt is not null;
create unique index search_items_document on search_items (document) where document is not null;
create unique index search_items_task on search_items (task) where task is not null;
create index search_items_by_name on search_items (space, name_key);
create index search_items_by_title on search_items (space, title_key);
""",
    sqlite="""
-- The words of the items in a space, to correct mistyped ones.
create table search_words (
    space integer not null references search_spaces (number) on delete cascade,
    word text not null,
    primary key (space, word)
) strict, without rowid;

-- Only whether a word is in an item: how often and where is its level. Contentless, with the words of search_items.
create virtual table search_index using fts5 (
    words, content = '', detail = none, columnsize = 0, tokenize = "ascii tokenchars '.'"
);
create trigger search_items_added after insert on search_items begin
    insert into search_index (rowid, words) values (new.number, replace(new.words, ' ', ' ' || new.space || '.'));
end;
create trigger search_items_changed after update of space, words on search_items begin
    insert into search_index (search_index, rowid, words)
        values ('delete', old.number, replace(old.words, ' ', ' ' || old.space || '.'));
    insert into search_index (rowid, words) values (new.number, replace(new.words, ' ', ' ' || new.space || '.'));
end;
create trigger search_items_gone after delete on search_items begin
    insert into search_index (search_index, rowid, words)
        values ('delete', old.number, replace(old.words, ' ', ' ' || old.space || '.'));
end;
""",
    postgres=r"""
create table search_words (
    space bigint not null references search_spaces (number) on delete cascade,
    word text collate "C" not null,
    primary key (space, word)
);

-- The words with their space, as in the index of SQLite.
create function satchel_search_vector(space bigint, words text) returns tsvector language sql immutable parallel safe
    return array_to_tsvector(
        string_to_array(space || '.' || replace(btrim(words, ' '), ' ', ' ' || space || '.'), ' ')
    );
-- Every search reads what was written since the last clean-up of the index, by any user: the less, the less it tells.
create index search_items_words on search_items using gin (satchel_search_vector(space, words))
    with (gin_pending_list_limit = 64);
-- One item in 64, by which the number of items with a common word is estimated: counting all of them takes long.
create index search_items_sample on search_items using gin (satchel_search_vector(space, words))
    with (gin_pending_list_limit = 64) where number % 64 = 0;

alter table search_spaces enable row level security;
create policy search_spaces_visible on search_spaces using (
    case
        when kind <> 'task' then
            {all_projects} or exists (select from projects where projects.number = search_spaces.project)
        else owner = {user}
            and ({all_projects} or exists (select from projects where projects.number = search_spaces.within))
    end
);
alter table search_items enable row level security;
create policy search_items_visible on search_items
    using (exists (select from search_spaces where search_spaces.number = space))
    with check (exists (
        select from search_spaces s where s.number = space and case s.kind
            when 'prompt' then exists (select from prompts p where p.number = prompt and p.project = s.project)
            when 'document' then exists (select from documents r where r.number = document and r.project = s.project)
            else exists (select from tasks t where t.number = task and t.owner = s.owner) end
    ));
alter table search_words enable row level security;
create policy search_words_visible on search_words
    using (exists (select from search_spaces where search_spaces.number = space));

-- The spaces of a list that a caller may search: those that the policies show. Policies do not apply to the owner, and
-- neither does this.
create function satchel_open_spaces(wanted bigint[]) returns bigint[]
    language plpgsql stable security definer as $$
declare
    allowed constant text := current_setting('satchel.projects', true);
begin
    if pg_has_role(session_user, current_user, 'MEMBER') then
        return wanted;
    end if;
    return array(
        select s.number from search_spaces s where s.number = any (wanted)
            and (s.kind <> 'task' or s.owner = nullif(current_setting('satchel.user', true), ''))
            and (allowed = '*' or exists (
                select from projects p
                where p.number = coalesce(s.project, s.within) and p.deleted_at is null
                    and p.name = any (string_to_array(allowed, ','))
            ))
    );
end
$$;

-- A word at one of some levels in one of some spaces; null without a space.
create function satchel_word_query(spaces bigint[], levels text[], word text, is_prefix boolean) returns tsquery
    language sql immutable
    return (
        select string_agg(
            '''' || space || '.' || replace(replace(level || '.' || word, '\', '\\'), '''', '''''')
                || case when is_prefix then ''':*' else '''' end,
            ' | '
        )::tsquery
        from unnest(spaces) as space, unnest(levels) as level
    );

-- Under row-level security `@@` uses no index, so searches run as the owner, on spaces that the caller may search.
-- Each list is the items with a word at a level: their numbers, at most so many, and how many there are about.
create function satchel_find_words(wanted bigint[], levels text[], words text[], is_prefix boolean[], most bigint)
    returns table (place bigint, numbers bigint[], total bigint) language plpgsql stable security definer
    set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
    as $$
declare
    spaces constant bigint[] := satchel_open_spaces(wanted);
    query tsquery;
begin
    for each in 1 .. coalesce(cardinality(words), 0) loop
        place := each;
        query := satchel_word_query(spaces, levels[each:each], words[each], is_prefix[each]);
        continue when query is null;
        numbers := array(
            select i.number from search_items i where satchel_search_vector(i.space, i.words) @@ query limit most
        );
        total := cardinality(numbers);
        if total = most then
            select greatest(most, 64 * count(*)) into total from search_items i
                where satchel_search_vector(i.space, i.words) @@ query and i.number % 64 = 0;
        end if;
        return next;
    end loop;
end
$$;

-- The items with all of some words, each exactly or as the beginning of a longer one, at any of the levels.
create function satchel_find_together(wanted bigint[], levels text[], words text[], is_prefix boolean[], most bigint)
    returns bigint[] language plpgsql stable security definer
    set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
    as $$
declare
    spaces constant bigint[] := satchel_open_spaces(wanted);
    one tsquery;
    query tsquery;
begin
    for each in 1 .. coalesce(cardinality(words), 0) loop
        one := satchel_word_query(spaces, levels, words[each], is_prefix[each]);
        query := coalesce(query && one, one);
    end loop;
    return array(
        select i.number from search_items i where satchel_search_vector(i.space, i.words) @@ query limit most
    );
end
$$;

-- Deletes the words that no item has from the first space after a number, and returns the number of that space. Who has
-- stored words holds a lock on the row of their space until the commit, so that none of these are deleted before it.
create function satchel_clean_words(after bigint, levels text[]) returns bigint
    language plpgsql security definer
    set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
    as $$
declare
    cleaned bigint;
begin
    select number into cleaned from search_spaces where number > after order by number limit 1 for update;
    delete from search_words w where w.space = cleaned and not exists (
        select from search_items i
        where satchel_search_vector(i.space, i.words) @@ satchel_word_query(array[cleaned], levels, w.word, false)
    );
    return cleaned;
end
$$;

-- Deletes those of some words in a space that no item has, as satchel_clean_words does.
create function satchel_forget_words(cleaned bigint, wanted text[], levels text[]) returns void
    language plpgsql security definer
    set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
    as $$
begin
    perform from search_spaces where number = cleaned for update;
    delete from search_words w where w.space = cleaned and w.word = any (wanted) and not exists (
        select from search_items i
        where satchel_search_vector(i.space, i.words) @@ satchel_word_query(array[cleaned], levels, w.word, false)
    );
end
$$;
""",
)

"""Schema 13: lists of changes and visits of a limited token, words of a deleted item, and texts that searches read."""

from satchel.storage.migrations.migration import Migration

STEP = Migration(
    # Its place takes `revisions_by_owner`; SQLite would go on walking along this one, past the tasks of others.
    both="drop index if exists revisions_by_project;",
    indexes=(
        # By these a caller's changes are found without those that they may not see.
        "create index revisions_by_owner on revisions (project, owner, number)",
        "create index revisions_by_visit on revisions (author, project, number)",
    ),
    postgres="""
-- In the row itself up to a page, and not beside it: a search reads the texts of thousands of candidates. It holds for
-- texts that are written from now on; `vacuum full prompt_texts` changes the others.
alter table prompt_texts set (toast_tuple_target = 8160);

-- As in step 5, with two statements for all words instead of one for each. A common word is found in the sample, which
-- spares reading its long list in the index.
create or replace function satchel_words_of_none(wanted bigint, levels text[], words text[]) returns text[]
    language plpgsql stable security definer
    set enable_seqscan = off set plan_cache_mode = force_custom_plan set jit = off
    as $$
declare
    spaces constant bigint[] := satchel_open_spaces(array[wanted]);
    rare text[];
begin
    if spaces = '{}' then
        return '{}';
    end if;
    rare := array(
        select word from unnest(words) as word where not exists (
            select from search_items i
            where satchel_search_vector(i.space, i.words) @@ satchel_word_query(spaces, levels, word, false)
                and i.number % 64 = 0
        )
    );
    return array(
        select word from unnest(rare) as word where not exists (
            select from search_items i
            where satchel_search_vector(i.space, i.words) @@ satchel_word_query(spaces, levels, word, false)
        )
    );
end
$$;
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_words_of_none set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
""",
)

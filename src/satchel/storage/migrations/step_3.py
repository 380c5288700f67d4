"""Schema 3: row-level security for search."""

from satchel.storage.migrations.migration import Migration

# Row-level security for the folded texts of prompts too, and the one function that searches past it.
STEP = Migration(
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

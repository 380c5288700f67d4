"""Schema 10: the values of arguments go with their prompt."""

from satchel.storage.migrations.migration import Migration

# The key of a value is PROJECT/PROMPT, or LIBRARY:PROMPT for a prompt in a library. Names have neither : nor /, so that
# the keys of a project are those from PROJECT/ to PROJECT0, the character after /.
STEP = Migration(
    both="",
    indexes=("create index argument_values_by_prompt on argument_values (prompt)",),
    sqlite="""
create trigger prompts_gone after delete on prompts begin
    delete from argument_values
    where prompt = (select name from projects where number = old.project) || '/' || old.name;
end;
create trigger projects_gone after update of deleted_at on projects when new.deleted_at is not null begin
    delete from argument_values where prompt >= old.name || '/' and prompt < old.name || '0';
end;
create trigger projects_removed after delete on projects begin
    delete from argument_values where prompt >= old.name || '/' and prompt < old.name || '0';
end;
create trigger projects_renamed after update of name on projects
when new.deleted_at is null and old.deleted_at is null and new.name <> old.name begin
    update or replace argument_values set prompt = new.name || substr(prompt, length(old.name) + 1)
    where prompt >= old.name || '/' and prompt < old.name || '0';
end;
""",
    postgres="""
-- These run as the owner, because the values are those of all users.
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
create trigger prompts_gone after delete on prompts for each row execute function satchel_prompt_gone();
create trigger projects_gone after update of deleted_at on projects for each row
    when (new.deleted_at is not null) execute function satchel_project_gone();
create trigger projects_removed after delete on projects for each row execute function satchel_project_gone();
create trigger projects_renamed after update of name on projects for each row
    when (new.deleted_at is null and old.deleted_at is null and new.name <> old.name)
    execute function satchel_project_renamed();

-- What upkeep removes, as in argument_history.py: the only way for an application role to reach all users.
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
                and p.name = substr(v.prompt, strpos(v.prompt, '/') + 1) and o.deleted_at is null
        ) end;
    get diagnostics removed = row_count;
    return removed;
end
$$;
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
    name text;
begin
    foreach name in array array[
        'satchel_prompt_gone', 'satchel_project_gone', 'satchel_project_renamed', 'satchel_forget_values'
    ] loop
        execute format('alter function %I set search_path = pg_catalog, %s, pg_temp', name, ours);
    end loop;
end
$$;
revoke execute on function
    satchel_prompt_gone, satchel_project_gone, satchel_project_renamed, satchel_forget_values from public;
""",
)

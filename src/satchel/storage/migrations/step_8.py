"""Schema 8: row-level security of what search keeps of tasks, confined to the projects of a limited token."""

from satchel.storage.migrations.migration import Migration

# Until now the tasks of no project, and of projects that were removed, were in the search of every token of their user.
STEP = Migration(
    both="",
    postgres="""
alter policy search_spaces_visible on search_spaces using (
    case
        when kind <> 'task' then (select current_setting('satchel.projects', true)) = '*'
            or exists (select from projects where projects.number = search_spaces.project)
        else owner = (select nullif(current_setting('satchel.user', true), '')) and (
            (select current_setting('satchel.projects', true)) = '*'
            or exists (select from projects where projects.number = search_spaces.within)
        )
    end
);
-- Notes are read by the task that they are on, which the caller may see.
alter policy task_notes_owner on task_notes using (
    owner = (select nullif(current_setting('satchel.user', true), '')) and (
        (select current_setting('satchel.projects', true)) = '*'
        or exists (
            select from tasks t where t.number = task_notes.task and t.project in (select p.number from projects p)
        )
    )
);

create or replace function satchel_open_spaces(wanted bigint[]) returns bigint[]
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
                where p.number = coalesce(s.project, s.within) and p.name = any (string_to_array(allowed, ','))
            ))
    );
end
$$;
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_open_spaces set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
""",
)

"""Schema 9: how much the store keeps of what each user wrote."""

from satchel.storage.migrations.migration import Migration

# A revision has the bytes by which its change made the store grow. They count as its author's for as long as history
# has the revision, as does an item that it added; so only inserted and pruned revisions are to be counted, and notes,
# which have no revisions.
STEP = Migration(
    both="""
alter table revisions add column size {integer} not null default 0;

-- The sum of all parts of an owner counts.
create table user_usage (
    owner {text} not null,
    part {integer} not null,
    items {integer} not null,
    bytes {integer} not null,
    primary key (owner, part)
) {strict};
insert into user_usage (owner, part, items, bytes)
    select user_id, 0, count(*), 0 from revisions r join authors a on a.number = r.author
    where action = 'add' group by user_id;
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
create policy user_usage_owner on user_usage
    using (owner = (select nullif(current_setting('satchel.user', true), '')));

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
do $$
declare
    ours constant regnamespace := (select relnamespace from pg_class where oid = 'prompts'::regclass);
begin
    execute format('alter function satchel_count_revision set search_path = pg_catalog, %s, pg_temp', ours);
    execute format('alter function satchel_count_note set search_path = pg_catalog, %s, pg_temp', ours);
end
$$;
revoke execute on function satchel_count_revision, satchel_count_note from public;
create trigger task_notes_counted after insert or delete on task_notes
    for each row execute function satchel_count_note();
create trigger revisions_counted after insert or delete on revisions
    for each row execute function satchel_count_revision();
""",
)

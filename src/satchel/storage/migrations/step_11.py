"""Schema 11: sessions of browsers."""

from satchel.storage.migrations.migration import Migration

STEP = Migration(
    both="""
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
-- A user sees their own. Before a caller is known, a session is looked up by the hash of its secret.
alter table sessions enable row level security;
create policy sessions_owner on sessions using (
    owner = (select nullif(current_setting('satchel.user', true), ''))
    or (
        (select nullif(current_setting('satchel.user', true), '')) is null
        and (select current_setting('satchel.projects', true)) = '*'
    )
);
""",
)

"""Schema 7: links between items."""

from functools import partial

from satchel.storage import links
from satchel.storage.database import Tx
from satchel.storage.migrations.migration import Fill, Migration

_BATCH = 20  # items that are read at once, because each may have 4 MiB
_TEXTS = {
    "prompt": """
        select number, project, null, content from prompts
        where number > :after and number <= :last and content like '%satchel://%' order by number limit :limit
    """,
    "resource": """
        select number, project, null, content from resources
        where number > :after and number <= :last and content like '%satchel://%' order by number limit :limit
    """,
    "task": """
        select number, null, owner, description from tasks
        where number > :after and number <= :last and description like '%satchel://%' order by number limit :limit
    """,
}


def _find_links(kind: str, tx: Tx, after: int, last: int) -> int | None:
    """Record the links in the texts of a kind that are there already."""
    sql = _TEXTS[kind]
    found = tx.all(sql, after=after, last=last, limit=_BATCH)
    for number, project, owner, text in found:
        source = links.Source(kind=kind, number=number, project=project, owner=owner)
        links.add(tx, source, "text", links.find_targets(text))
    return found[-1][0] if found else None


# A link is from a prompt, a resource or a task to what a URI in its text names, which may not exist (yet). A name in a
# URI is one of the project of the item that has the text.
STEP = Migration(
    both="""
create table links (
    number {number},
    prompt {integer} references prompts (number) on delete cascade,
    resource {integer} references resources (number) on delete cascade,
    task {integer} references tasks (number) on delete cascade,
    project {integer},
    owner {text},
    part {text} not null,
    to_kind {text} not null,
    to_key {text} not null,
    constraint links_one_source check (
        (prompt is not null and resource is null and task is null and owner is null and project is not null)
        or (prompt is null and resource is not null and task is null and owner is null and project is not null)
        or (prompt is null and resource is null and task is not null and owner is not null and project is null)
    )
) {strict};
create index links_of_prompts on links (prompt) where prompt is not null;
create index links_of_resources on links (resource) where resource is not null;
create index links_of_tasks on links (task) where task is not null;
create index links_to on links (to_kind, to_key, owner, project);
""",
    postgres="""
alter table links enable row level security;
create policy links_visible on links
    using (
        case when task is not null then owner = (select nullif(current_setting('satchel.user', true), ''))
        else (select current_setting('satchel.projects', true)) = '*' or project in (select number from projects) end
    )
    with check (
        exists (select from prompts where number = prompt and prompts.project = links.project)
        or exists (select from resources where number = resource and resources.project = links.project)
        or exists (select from tasks where number = task and tasks.owner = links.owner)
    );
""",
    fills=tuple(Fill(f"{kind}s", partial(_find_links, kind)) for kind in _TEXTS),
)

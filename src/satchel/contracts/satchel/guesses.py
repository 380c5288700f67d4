"""Suggestions for a name that does not exist: of an item, a project, a tag, an argument or a tool.

Imported only after such a mistake.
"""

import difflib
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress

from satchel.contracts.content import format_minute
from satchel.contracts.contract import Context
from satchel.contracts.satchel.answers import may_read
from satchel.contracts.satchel.history import name_author
from satchel.contracts.schema import UnknownArgument
from satchel.errors import EntryRefused, NotFound, Reason, Refused
from satchel.model import uri_of
from satchel.services import layers, lookup, projects
from satchel.services.texts import closest_name, closest_names

_MOST_NEAR = 3
_MOST_PROJECTS = 10  # that a hint names
_MOST_UNKNOWN = 5  # unknown arguments that an error lists
_LONGEST_SHOWN = 60  # characters of a name that a caller made up
_LONGEST_READ = 100  # characters of a name that are looked at
_LIKENESS = 0.75  # of 1, below which a spelling is another word


# -- items, projects and tags -----------------------------------------------------------------------------------------


def explain_missing(context: Context, error: Refused) -> Refused:
    """Return an error with names similar to the one that was not found, or with the fate of the item."""
    missing = error.cause if isinstance(error, EntryRefused) else error
    if not isinstance(missing, NotFound):
        return error
    if missing.kind == "project":
        explained = _explain_project(context, missing)
    else:
        explained = _find_personal(context, missing) or _find_deleted(context, missing) or _suggest(context, missing)
    return EntryRefused(error.place, explained) if isinstance(error, EntryRefused) else explained


def _explain_project(context: Context, missing: NotFound) -> NotFound:
    """Return the error with the projects of similar names, or of all names if there are none."""
    if context.scope.projects is None and projects.find_deleted(context.tx, missing.key) is not None:
        how = f": use restore with item {uri_of('project', missing.key)} to bring it back"
        hint = f"It is in the trash{how if 'restore' in context.tools else ''}."
        return NotFound("project", missing.key, missing.scope, why=Reason(hint=hint))
    names = projects.list_names(context.tx, context.scope)
    more = f" and {len(names) - _MOST_PROJECTS} more" if len(names) > _MOST_PROJECTS else ""
    listed = f"{', '.join(names[:_MOST_PROJECTS])}{more}" or "none"
    advice = "; add_project makes one" if "add_project" in context.tools else ""
    hint = f"There {'are' if names[1:] else 'is'} {listed}{advice}."
    near = dict.fromkeys(closest_names(missing.key, names), "")
    return NotFound("project", missing.key, missing.scope, near=near, why=Reason(hint=hint))


def _find_personal(context: Context, missing: NotFound) -> NotFound | None:
    """Explain where to change an item that the project only reads from the personal one."""
    if layers.find_missing(context.tx, missing) is None:
        return None
    there, here = missing.scope.personal, missing.scope.project
    hint = f"It is in project '{there}', for every project: pass project: \"{there}\" to work on it there"
    if "update_items" in context.tools:
        hint += f', or first copy it here with update_items (project: "{there}", to: "{here}", copy: true)'
    return NotFound(missing.kind, missing.key, missing.scope, why=Reason(hint=f"{hint}."))


def _find_deleted(context: Context, missing: NotFound) -> NotFound | None:
    """Explain who deleted an item and when."""
    kind = next((one for one in lookup.NAMED if one == missing.kind), None)
    found = lookup.find_deleted(context.tx, missing.scope, kind, missing.key)
    if found is None or found.kind == "project" or not may_read(context, found.kind):
        return None
    deletion = lookup.find_deletion(context.tx, found)
    when = f" {format_minute(deletion.at)} by {name_author(deletion.author, context.scope)}" if deletion else ""
    can_restore = "restore" in context.tools
    hint = "Use restore to bring it back." if can_restore else "It is in the trash; history shows what it was."
    return NotFound(found.kind, found.key, missing.scope, why=Reason(f"was deleted{when}", hint, is_deleted=True))


def _suggest(context: Context, missing: NotFound) -> NotFound:
    """Return the error with the items that a mistyped reference may mean."""
    tx, scope, key = context.tx, missing.scope, missing.key
    kinds = [one for one in lookup.NAMED if missing.kind in (one, "item") and may_read(context, one)]
    near: dict[str, str] = {}
    with suppress(NotFound):  # the project may have been deleted meanwhile
        for kind in layers.KINDS:
            if kind in kinds:
                names = layers.suggest(tx, scope, kind, key)
                # A name like a number would be taken for that of a task.
                near |= {uri_of(kind, name) if name == key.strip() else name: "" for name in names}
        if missing.kind == "prompt":
            near |= dict.fromkeys(closest_names(key, (name for name, _ in context.libraries.catalog.view)), "")
        if "task" in kinds and scope.user is not None:
            near |= {f"#{number}": title for number, _, title in lookup.suggest(tx, scope, "task", key)}
        if missing.kind == "item":
            deleted = lookup.suggest_deleted(tx, scope, kinds, key)
            near = dict.fromkeys(deleted[:2], "") | near | dict.fromkeys(deleted, "")
    can_list = missing.kind == "item" or may_read(context, missing.kind)
    why = None if near or can_list else Reason(hint="Check the name.")
    return NotFound(missing.kind, key, scope, near=dict(list(near.items())[:_MOST_NEAR]), why=why)


def describe_tags(missing: Sequence[str], what: str, known: Iterable[str]) -> list[str]:
    """Return a note for each tag that no item has, with similar tags in use."""
    known = list(known)
    notes = []
    for tag in missing:
        near = closest_names(tag, known)
        meant = f" Did you mean {' or '.join(near)}?" if near else ""
        notes.append(f"No {what} has the tag '{shorten_name(tag)}'.{meant}")
    return notes


# -- arguments --------------------------------------------------------------------------------------------------------


def describe_unknown(unknown: object) -> tuple[str, str, list[str]]:
    """Describe the unknown name in a call, and suggest another; return the suggestions too."""
    assert isinstance(unknown, tuple)
    told: list[UnknownArgument] = list(unknown[:_MOST_UNKNOWN])
    names = [_name_argument(one) for one in told]
    rest = f" and {len(unknown) - _MOST_UNKNOWN} more" if len(unknown) > _MOST_UNKNOWN else ""
    message = f"Unknown argument{'s' if len(unknown) > 1 else ''}: {', '.join(names)}{rest}. Nothing was done."
    found = [(one, find_argument(one.name, one.known, one.given)) for one in told]
    near = {one.name: meant for one, meant in found if meant is not None}
    hints = [f"{meant} instead of {shorten_name(name)}" for name, meant in near.items()]
    hint = f"Use {', '.join(hints)}." if hints else ""
    strangers = {one.place: one for one, meant in found if meant is None}
    for place, one in strangers.items():
        hint += f" {f'{place} has' if place else 'The tool takes'} {', '.join(one.known)}."
    return message, hint.strip()[:1].upper() + hint.strip()[1:], list(dict.fromkeys(near.values()))


def _name_argument(one: UnknownArgument) -> str:
    return f"{one.place}.{shorten_name(one.name)}" if one.place else shorten_name(one.name)


def shorten_name(name: str) -> str:
    """Shorten a name that a caller invented, and drop unprintable characters."""
    plain = "".join(one if one.isprintable() else "?" for one in name[: _LONGEST_SHOWN + 1])
    return plain if len(plain) <= _LONGEST_SHOWN else f"{plain[:_LONGEST_SHOWN]}..."


def find_argument(name: str, known: Sequence[str], given: Iterable[str] = ()) -> str | None:
    """Return the argument that was probably meant, if any; those that the call does not have come first."""
    unused = [one for one in known if one not in set(given)]
    return _find_argument(name, unused) or _find_argument(name, known)


def _find_argument(name: str, known: Sequence[str]) -> str | None:
    words = split_words(name)
    folded = "_".join(words)
    for one in known:
        if folded in (one, f"{one}s") or f"{folded}s" == one:
            return one
    others = {one: _ARGUMENTS.get(one, "").split() for one in known}
    also_called = [one for one in known if folded in others[one]]
    if also_called:
        return min(also_called, key=lambda one: others[one].index(folded))
    for one in known:  # task_id, prompt_name, new_title
        if set(one.split("_")) <= set(words) or (words and set(words) <= set(one.split("_"))):
            return one
    return _find_spelling(folded, known)


def _find_spelling(name: str, known: Sequence[str]) -> str | None:
    """Return the name with nearly the same letters; this is stricter than for items: `tags` does not mean `status`."""
    near = closest_name(name, known)
    return near if near and difflib.SequenceMatcher(None, name, near).ratio() >= _LIKENESS else None


def split_words(name: str) -> list[str]:
    """Split a name into words, so that dueDate, due-date and DUE_DATE are the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name[:_LONGEST_READ])
    return re.findall(r"[a-z0-9]+", spaced.lower())


def find_choice(field: str, given: str) -> str | None:
    """Return the choice that another usual word stands for."""
    word = given.strip().lower().replace(" ", "-").replace("_", "-")
    for choice, others in _CHOICES.get(field, {}).items():
        if word == choice.replace("_", "-") or word in others.split():
            return choice
    return None


# -- tools ------------------------------------------------------------------------------------------------------------


def explain_unknown_tool(name: str, served: Iterable[str]) -> str:
    """Return a sentence about an unknown tool, with the tool that was probably meant, or all tools."""
    tools = list(served)
    near = find_tool(name, tools)
    return f"Did you mean {near}?" if near else f"There are {', '.join(tools)}."


def find_tool(name: str, served: Sequence[str]) -> str | None:
    """Return the tool that was probably meant, if any."""
    words = split_words(name)
    while words and words[0] in ("mcp", "satchel"):  # as hosts prefix names
        del words[0]
    folded = "_".join(words)
    if folded in served:
        return folded
    for tool, others in _TOOLS.items():
        if tool in served and folded in others.split():
            return tool
    verbs, nouns = _classify(words, _VERBS), _classify([_to_singular(word) for word in words], _NOUNS)
    if not verbs or not nouns:
        return _find_spelling(folded, served)
    is_plural = any(word != _to_singular(word) for word in words)
    for verb in verbs:
        for noun in nouns:
            of_many = _BY_WORDS.get(f"{verb} {noun}s", "") if is_plural else ""
            for tool in f"{of_many} {_BY_WORDS.get(f'{verb} {noun}', '')}".split():
                if tool in served:
                    return tool
    return None  # the meaning is clear, but the tool is not served here


def _classify(words: list[str], classes: dict[str, str]) -> list[str]:
    return [kind for word in words for kind, others in classes.items() if word in others.split()]


def _to_singular(word: str) -> str:
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


# -- names that models and other servers use for our arguments and tools ----------------------------------------------

# By an argument of ours: its other names, the most usual first. Where a tool has several of ours, the place decides.
_ARGUMENTS = {
    "due": "due_date deadline due_at due_on due_by date day when",
    "blocked_by": "depends_on dependencies dependency depends blockers blocker blocked_on waits_for wait_for after "
    "prerequisites requires needs parent parents",
    "tags": "labels label tag categories category topics topic keywords",
    "priority": "urgency importance severity level",
    "status": "state filter completed done is_completed show",
    "title": "name summary subject heading headline label task text",
    "description": "details detail desc body notes note text content comment about summary",
    "content": "body text template prompt markdown data value document message file_text new_content",
    "lines": "tasks task items todos text titles title list todo range line line_range from_line start_line offset "
    "limit start end name content description",
    "prompts": "items prompt templates list entries title name content template text",
    "resources": "items documents document files resource list entries name content text file",
    "items": "item ids id names name references tasks task prompts prompt resources resource numbers",
    "task": "id number task_id task_number issue issue_id ref reference name title item todo key",
    "prompt": "name id prompt_id title slug ref reference item template",
    "resource": "name uri id resource_id document file path filename url ref reference item title",
    "item": "name id ref reference target task prompt resource document file path uri number title",
    "name": "title id key filename path slug project label",
    "uri": "url link href path address",
    "mime_type": "mime mimetype type content_type media_type format",
    "arguments": "variables vars params parameters values inputs args data context",
    "query": "q search text term terms words keyword keywords pattern string question filter name title path prefix",
    "kind": "type kinds types category what",
    "limit": "max count max_results page_size per_page n top size first",
    "cursor": "page offset next next_cursor page_token after start skip",
    "match": "mode operator tag_mode any all",
    "expected_version": "version etag if_match revision if_version base_version",
    "version": "revision at number to_version restore_to to",
    "against": "base from compare with diff from_version other",
    "since": "from after start from_date from_time when last time",
    "by": "user author who client owner",
    "project": "workspace repo repository list board folder scope collection namespace project_id project_name "
    "project_to to",
    "to": "project_to to_project destination target move_to new_project project dest",
    "copy": "duplicate clone keep is_copy",
    "note": "comment comments notes message reason text summary remark result",
    "fence": "fencing fencing_number fencing_token fence_token token lease claim",
    "minutes": "duration lease ttl timeout time for lease_minutes length seconds hours",
    "release": "unclaim give_back free done cancel drop",
    "key": "idempotency_key request_id retry_key dedupe_key id",
    "edits": "changes replacements edit operations ops patch old new old_string new_string old_str new_str old_text "
    "new_text find replace diff",
    "old": "find old_string old_str search from before pattern old_text match original",
    "new": "replace new_string new_str replacement to after with new_text insert",
    "all": "replace_all global every all_matches multiple",
    "append": "suffix add_end after insert_after end add",
    "prepend": "prefix add_start before insert_before start",
    "heading": "section header chapter title anchor part",
    "whole": "full all entire complete everything raw",
    "required": "is_required mandatory optional",
    "values": "enum options choices allowed allowed_values default",
    "open": "is_open allow_other any extensible",
}

# By a field with choices: the other words for each choice.
_CHOICES = {
    "status": {
        "completed": "done closed complete finished resolved fixed",
        "pending": "open todo new unfinished incomplete",
        "in_progress": "doing wip in-progress started active claimed working",
        "cancelled": "canceled wontfix won't-fix dropped abandoned",
    },
    "priority": {
        "low": "minor trivial lowest p3 p4",
        "normal": "medium default moderate p2",
        "high": "important major p1",
        "urgent": "critical highest blocker asap p0",
    },
}

# Tools by whole names, where the words below would not lead to them; the first that is served is meant.
_TOOLS = {
    "catch_up": "catchup whoami status overview summary get_context context onboard onboarding briefing brief prime "
    "session_start start_session standup get_overview set_project "
    "switch_project select_project current_project what_changed ping info help stats list_workspaces read_graph",
    "claim_task": "next_task next get_next_task next_work pick_task take_task start_task begin_task assign_task "
    "lock_task checkout_task release_task unclaim_task work_on execute_task do_task",
    "list_tasks": "list ready ready_work ready_tasks blocked get_next get_ready todo_read list_ready my_tasks todos",
    "list_resources": "ls dir tree list_directory",
    "edit_text": "str_replace replace replace_text edit edit_file edit_prompt edit_resource edit_document edit_block "
    "apply_patch patch append append_text append_to_file insert multi_edit update_text search_replace",
    "update_task": "set_task_status set_status add_dependency add_dep dep remove_dependency link_tasks add_comment "
    "comment add_note reopen reopen_task reopen_issue prioritize set_priority reschedule rename_task",
    "update_items": "bulk_update batch_update update_many move copy tag add_tags add_tag remove_tags move_task "
    "copy_prompt move_prompt move_items cancel_tasks complete_tasks bulk_complete",
    "get_prompt": "render use_prompt run_prompt apply_prompt render_template fill_prompt prompt_get",
    "history": "log diff changes changelog audit activity versions list_versions revisions blame recent_changes "
    "get_history show_history timeline",
    "restore": "undo revert rollback undelete recover untrash restore_version",
    "search": "recall find query grep lookup ask semantic_search search_nodes search_memory search_memories rag "
    "open_nodes glob",
    "add_resources": "remember memorize store_memory create_memory add_memory add_observations write write_file note",
    "complete_task": "mark_done mark_task_done mark_complete mark_completed done complete finish close tick",
    "add_tasks": "plan_task plan_tasks split_tasks todo_write todowrite expand_task parse_prd add_subtask "
    "create_plan quick_add",
    "add_project": "init initialize initialize_project create_workspace project_create",
    "delete": "rm purge trash clear clear_all_tasks clear_completed bulk_delete",
}

_VERBS = {
    "add": "add create new save insert make write store put remember push submit register import upload set",
    "list": "list ls all browse index enumerate",
    "get": "get read fetch show view open load describe retrieve inspect cat info",
    "update": "update edit modify change patch rename alter move tag set mark",
    "delete": "delete remove rm destroy trash drop archive erase",
    "complete": "complete finish done close resolve check tick end verify",
    "search": "search find query lookup grep filter",
    "claim": "claim take start begin next pick assign lock checkout release",
    "render": "render use run apply fill execute",
    "restore": "restore undo revert rollback recover",
}
_NOUNS = {
    "task": "task todo issue ticket card bead reminder subtask work story",
    "prompt": "prompt template snippet",
    "resource": "resource document doc file note page memory artifact attachment knowledge entity observation",
    "project": "project workspace board repo repository",
    "tag": "tag label category",
    "history": "history log activity change version revision",
}

# By verb and noun: the tools that may be meant. A noun in the plural comes first with an s.
_BY_WORDS = {
    "add task": "add_tasks",
    "add prompt": "add_prompts",
    "add resource": "add_resources",
    "add project": "add_project",
    "add tag": "update_items update_prompt update_task",
    "list task": "list_tasks",
    "list prompt": "list_prompts",
    "list resource": "list_resources",
    "list project": "catch_up list_projects",
    "list tag": "catch_up list_tags",
    "get tasks": "list_tasks",
    "get prompts": "list_prompts",
    "get resources": "list_resources",
    "get projects": "catch_up list_projects",
    "get tags": "catch_up list_tags",
    "get task": "get_task",
    "get prompt": "get_prompt",
    "get resource": "read_resource",
    "get project": "catch_up",
    "update tasks": "update_items",
    "update prompts": "update_items",
    "update task": "update_task",
    "update prompt": "update_prompt",
    "update resource": "update_resource",
    "update tag": "update_items",
    "delete task": "delete delete_task",
    "delete prompt": "delete delete_prompt",
    "delete resource": "delete delete_resource",
    "complete tasks": "update_items",
    "complete task": "complete_task",
    "search task": "search list_tasks",
    "search prompt": "search list_prompts",
    "search resource": "search list_resources",
    "claim task": "claim_task list_tasks",
    "render prompt": "get_prompt render_prompt",
    "restore task": "restore",
    "restore prompt": "restore",
    "restore resource": "restore",
    "list history": "history",
    "get history": "history",
}

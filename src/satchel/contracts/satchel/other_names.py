"""What models and other servers call our arguments and tools; only read after a mistake."""

# By an argument of ours: its other names, the most usual first. Where a tool has several of ours, the place decides.
ARGUMENTS = {
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
CHOICES = {
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
TOOLS = {
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

VERBS = {
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
NOUNS = {
    "task": "task todo issue ticket card bead reminder subtask work story",
    "prompt": "prompt template snippet",
    "resource": "resource document doc file note page memory artifact attachment knowledge entity observation",
    "project": "project workspace board repo repository",
    "tag": "tag label category",
    "history": "history log activity change version revision",
}

# By verb and noun: the tools that may be meant. A noun in the plural comes first with an s.
BY_WORDS = {
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


def find_choice(field: str, given: str) -> str | None:
    """The choice that a usual other word for it stands for."""
    word = given.strip().lower().replace(" ", "-").replace("_", "-")
    for choice, others in CHOICES.get(field, {}).items():
        if word == choice.replace("_", "-") or word in others.split():
            return choice
    return None

"""GitHub issues: the JSON of `gh issue list --json …`, or of the REST API."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from satchel.exchange import cleaning
from satchel.exchange.entries import Found, NoteEntry, Problem, Unreadable
from satchel.exchange.formats import shared
from satchel.exchange.sources import SourceFile
from satchel.model import Priority

_KNOWN = (
    *("number", "title", "body", "state", "stateReason", "state_reason", "labels", "milestone", "comments", "id"),
    *("createdAt", "updatedAt", "closedAt", "created_at", "updated_at", "closed_at", "url", "html_url", "closed"),
    *("assignees", "author", "user", "node_id", "reactionGroups", "projectCards", "projectItems", "isPinned"),
)
_SIGNS = {"state", "labels", "body", "url", "html_url", "assignees", "createdAt", "milestone", "author", "closedAt"}
_LONGEST_NOTE = 10_000  # characters
_PRIORITY_LABEL = r"(?i)(?:priority|prio|severity)?[\s:/_-]*(critical|urgent|highest|high|medium|low|lowest|p[0-4])"


def recognise(file: SourceFile) -> bool:
    """Recognise a list of issues with a number and a title."""
    found = _list_issues(shared.guess_json(file))
    return any(map(_is_issue, found[:5]))


def _is_issue(value: object) -> bool:
    if not isinstance(value, Mapping) or not isinstance(value.get("number"), int) or "title" not in value:
        return False
    return bool(_SIGNS & {*value}) or {*value} == {"number", "title"}


def _list_issues(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return shared.get_list(value, "items") or ([value] if "number" in value else [])
    return value if isinstance(value, list) else []


def read(file: SourceFile) -> Iterator[Found]:
    """Read a task from each issue; comments become notes, and an issue closed as not planned is cancelled."""
    issues = _list_issues(shared.read_json(file))
    if not issues:
        raise Unreadable("it has no issues")
    for place, issue in enumerate(issues, 1):
        where = f"{file.shown}, issue {place}"
        if not isinstance(issue, Mapping) or not shared.text_of(issue, "title"):
            yield Problem(where, "it is not an issue: it has no title")
        elif "pull_request" in issue:
            yield Problem(where, "it is a pull request", is_harmless=True)
        else:
            yield _read_issue(f"{file.shown}, issue #{shared.text_of(issue, 'number')}", issue)


def _read_issue(where: str, issue: shared.Fields) -> Found:
    labels = [
        shared.text_of(one, "name") if isinstance(one, Mapping) else str(one)
        for one in shared.get_list(issue, "labels")
    ]
    is_closed = shared.text_of(issue, "state").upper() == "CLOSED" or issue.get("closed") is True
    reason = shared.text_of(issue, "stateReason", "state_reason").casefold()
    milestone = issue.get("milestone")
    mile: shared.Fields = milestone if isinstance(milestone, Mapping) else {"title": cleaning.to_text(milestone)}
    logins = ", ".join(shared.text_of(one, "login") for one in shared.list_mappings(issue.get("assignees")))
    more = {
        "url": shared.text_of(issue, "html_url", "url"),
        "assignees": logins,
        "milestone": shared.text_of(mile, "title"),
    }
    body = issue.get("body")
    text = body.replace("\r\n", "\n") if isinstance(body, str) else ""
    is_cancelled = reason.replace("_", " ") in ("not planned", "duplicate")
    return shared.make_task(
        where,
        {**issue, **more},
        [one for one in _KNOWN if one not in more],
        title=shared.text_of(issue, "title"),
        text=text,
        status="pending" if not is_closed else "cancelled" if is_cancelled else "completed",
        done=issue.get("closedAt") or issue.get("closed_at"),
        tags=labels,
        priority=_find_priority(labels),
        due=cleaning.clean_day(mile.get("dueOn") or mile.get("due_on")),
        key=shared.text_of(issue, "number"),
        after=tuple(dict.fromkeys(re.findall(r"(?im)^[^\w\n]*(?:blocked by|depends on):?\s+#(\d+)\b", text))),
        comments=tuple(_read_comments(issue)),
    )


def _read_comments(issue: shared.Fields) -> Iterator[NoteEntry]:
    for one in shared.list_mappings(issue.get("comments")):
        author = one.get("author", one.get("user"))
        name = shared.text_of(author, "login") if isinstance(author, Mapping) else ""
        text = shared.text_of(one, "body").replace("\r\n", "\n")
        if text:
            whole = f"{name}: {text}" if name else text
            yield NoteEntry(
                whole[:_LONGEST_NOTE], cleaning.clean_moment(one.get("createdAt", one.get("created_at"))) or ""
            )


def _find_priority(labels: Sequence[str]) -> Priority:
    """Return the priority that a label such as `priority: high` or `P1` means."""
    for label in labels:
        if found := re.fullmatch(_PRIORITY_LABEL, label.strip()):
            return cleaning.clean_priority(found[1])
    return "normal"

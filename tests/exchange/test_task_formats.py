"""Tasks of other tools: status, priority, due day, tags, project, dependencies and notes are kept."""

from pathlib import Path
from typing import Any

from satchel.exchange.entries import DocumentEntry, NoteEntry, Problem, TaskEntry
from satchel.exchange.formats import BY_NAME
from tests.exchange.corpora import read, write_files


def tasks(tmp_path: Path, files: dict[str, str | bytes]) -> tuple[dict[str, TaskEntry], list[Problem]]:
    entries, problems = read(write_files(tmp_path, files))
    return {one.title: one for one in entries if isinstance(one, TaskEntry)}, problems


def facts(task: TaskEntry) -> tuple[Any, ...]:
    return task.status, task.priority, task.due, task.tags, task.project


def names(found: dict[str, TaskEntry], task: TaskEntry) -> list[str]:
    """Return the titles of the tasks that one waits for."""
    return [one.title for one in found.values() if one.key and one.key in task.after]


def test_todo_txt(tmp_path: Path) -> None:
    text = (
        "(A) 2026-01-01 Call mum +family @phone due:2026-02-03 id:1\r\n"
        "x 2026-01-05 2026-01-02 Pay rent +home pri:B\r\n\r\n"
        "Mail +1 to a@b.c see http://x.y dep:1\n(D) later\n# Tasks\n"
    )
    found, problems = tasks(tmp_path, {"todo.txt": text})
    assert [(one.what, one.is_harmless) for one in problems] == [("it is a heading of Markdown, not a task", True)]
    assert len(found) == 4
    assert facts(found["Call mum"]) == ("pending", "urgent", "2026-02-03", ("phone",), "family")
    assert facts(found["Pay rent"]) == ("completed", "high", None, (), "home")
    assert found["Pay rent"].completed_at == "2026-01-05T00:00:00.000000Z"
    mail = found["Mail to a@b.c see http://x.y"]
    assert (facts(mail), names(found, mail)) == (("pending", "normal", None, (), "1"), ["Call mum"])
    assert found["later"].priority == "low"


def test_a_title_like_a_heading_survives_todo_txt(tmp_path: Path) -> None:
    written = BY_NAME["todo-txt"].write
    assert written is not None
    files = written([TaskEntry(title="# Plan")]).files
    assert files == {"todo.txt": b"(C) # Plan\n"}
    found, problems = tasks(tmp_path, dict(files))
    assert (facts(found["# Plan"]), problems) == (("pending", "normal", None, (), None), [])


def test_taskwarrior(tmp_path: Path) -> None:
    text = """[
    {"id":1,"uuid":"a-1","description":"Plan","status":"pending","entry":"20260101T000000Z","due":"20260115T120000Z",
     "priority":"H","project":"Home.Garden","tags":["Next Week"],"wait":"20260110T000000Z","urgency":9.1,
     "annotations":[{"entry":"20260102T030405Z","description":"Seen"}]},
    {"id":0,"uuid":"b-2","description":"Dig","status":"completed","end":"20260103T000000Z","depends":["a-1"]},
    {"id":0,"uuid":"c-3","description":"Fly","status":"deleted","depends":"a-1,b-2"},
    {"id":0,"uuid":"d-4","status":"pending"}]"""
    found, problems = tasks(tmp_path, {"export.json": text})
    assert [one.what for one in problems] == ["it is not a task: it has no description"]
    plan, dig, fly = found["Plan"], found["Dig"], found["Fly"]
    assert facts(plan) == ("pending", "high", "2026-01-15", ("next-week",), "Home.Garden")
    assert plan.description == "wait: 20260110T000000Z"
    assert plan.comments == (NoteEntry("Seen", "2026-01-02T03:04:05.000000Z"),)
    assert (dig.status, dig.completed_at) == ("completed", "2026-01-03T00:00:00.000000Z")
    assert (fly.status, names(found, dig), names(found, fly)) == ("cancelled", ["Plan"], ["Plan", "Dig"])


def test_a_folder_of_backlog_md(tmp_path: Path) -> None:
    one = (
        "---\nid: BACK-1\ntitle: 'Add: login'\nstatus: In Progress\nassignee: ['@ada']\n"
        "created_date: '2026-01-02 03:04'\nlabels:\n  - Web UI\ndependencies: [back-2]\npriority: high\n---\n\n"
        "## Description\n\n<!-- SECTION:DESCRIPTION:BEGIN -->\nDo it.\n<!-- SECTION:DESCRIPTION:END -->\n\n"
        "## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [ ] #1 It works\n<!-- AC:END -->\n\n"
        "## Implementation Notes\n\nTried this.\n"
    )
    files: dict[str, str | bytes] = {
        "backlog/tasks/back-1 - Add-login.md": one,
        "backlog/completed/back-2 - Set-up.md": "---\nid: BACK-2\ntitle: Set up\nstatus: Done\n---\n",
        "backlog/archive/tasks/back-3 - Old.md": "---\nid: BACK-3\ntitle: Old\nstatus: To Do\n---\n",
        "backlog/config.yml": "project_name: x\n",
    }
    found, problems = tasks(tmp_path, files)
    assert problems == []
    login = found["Add: login"]
    assert facts(login) == ("pending", "high", None, ("in-progress", "web-ui"), None)
    assert login.description == "Do it.\n\n## Acceptance Criteria\n- [ ] #1 It works\n\nassignee: @ada"
    assert login.comments == (NoteEntry("Tried this."),)
    assert (names(found, login), found["Set up"].status, found["Old"].status) == (["Set up"], "completed", "cancelled")


def test_docs_and_decisions_of_a_backlog_are_documents(tmp_path: Path) -> None:
    task = "---\nid: TASK-1\ntitle: One\nstatus: Done\n---\n"
    decision = "---\nid: decision-1\ntitle: Use git\nstatus: accepted\n---\n\n## Context\n\nWhy.\n"
    files: dict[str, str | bytes] = {
        "backlog/tasks/task-1 - One.md": task,
        "backlog/docs/guides/doc-1 - Guide.md": "---\nid: doc-1\ntitle: Guide\ntype: guide\n---\nRead.\n",
        "backlog/decisions/decision-1 - Use-git.md": decision,
        "elsewhere/docs/a.md": "---\ntitle: A\n---\nText\n",
    }
    entries, problems = read(write_files(tmp_path, files))
    found = [(one.name, one.description) for one in entries if isinstance(one, DocumentEntry)]
    assert (problems, found) == ([], [("decision-1-Use-git.md", "Use git"), ("doc-1-Guide.md", "Guide")])
    assert next(one.content for one in entries if isinstance(one, DocumentEntry)) == decision


def test_task_master(tmp_path: Path) -> None:
    text = """{"master": {"tasks": [
        {"id": 1, "title": "Base", "description": "What", "details": "How", "testStrategy": "", "status": "done",
         "priority": "critical", "dependencies": [], "subtasks": [
            {"id": 1, "title": "Part one", "status": "pending", "dependencies": []},
            {"id": 2, "title": "Part two", "status": "in-progress", "dependencies": [1]}]},
        {"id": 2, "title": "Next", "status": "cancelled", "priority": "medium", "dependencies": [1, "1.2"]}]},
        "feature": {"tasks": [{"id": 1, "title": "Other", "status": "pending", "dependencies": []}]}}"""
    found, problems = tasks(tmp_path, {".taskmaster/tasks/tasks.json": text})
    assert problems == []
    assert facts(found["Base"]) == ("completed", "urgent", None, (), None)
    assert found["Base"].description == "What\n\n## Details\n\nHow"
    assert facts(found["Part two"]) == ("pending", "urgent", None, ("in-progress",), None)
    assert (found["Part two"].parent, found["Part two"].description) == (found["Base"].key, None)
    assert names(found, found["Part two"]) == ["Part one"]
    assert (found["Next"].status, names(found, found["Next"])) == ("cancelled", ["Base", "Part two"])
    assert found["Other"].tags == ("feature",)


def test_beads(tmp_path: Path) -> None:
    text = (
        '{"id":"bd-1","title":"Bug","description":"d","design":"x","status":"open","priority":0,"issue_type":"bug",'
        '"labels":["api"],"created_at":"2026-01-01T00:00:00Z","assignee":"ada","dependencies":['
        '{"issue_id":"bd-1","depends_on_id":"bd-2","type":"blocks"},'
        '{"issue_id":"bd-1","depends_on_id":"bd-9","type":"parent-child"}],'
        '"comments":[{"author":"bob","text":"yes","created_at":"2026-01-02T00:00:00+01:00"}]}\n'
        '{"id":"bd-2","title":"Old","status":"closed","priority":3,"issue_type":"task","closed_at":"2026-01-03T00:00:00Z"}\n'
        '{"id":"bd-3","title":"Gone","status":"tombstone","priority":2}\n{"id": \n'
    )
    found, problems = tasks(tmp_path, {".beads/issues.jsonl": text})
    assert [(one.is_harmless, one.where[-2:]) for one in problems] == [(True, ":3"), (False, ":4")]
    bug = found["Bug"]
    assert facts(bug) == ("pending", "urgent", None, ("api", "bug"), None)
    assert bug.description == "d\n\n## Design\n\nx\n\nassignee: ada"
    assert bug.parent.endswith("bd-9")
    assert bug.comments == (NoteEntry("yes", "2026-01-01T23:00:00.000000Z"),)
    assert (names(found, bug), facts(found["Old"])) == (["Old"], ("completed", "low", None, (), None))


def test_github_issues(tmp_path: Path) -> None:
    text = """[
      {"number": 7, "title": "Crash", "body": "Boom\\r\\nDepends on #8", "state": "OPEN", "url": "https://x/7",
       "labels": [{"name": "bug"}, {"name": "priority: high"}], "assignees": [{"login": "ada"}],
       "milestone": {"title": "v1", "dueOn": "2026-03-04T12:00:00Z"}, "stateReason": "",
       "comments": [{"author": {"login": "bob"}, "body": "me too", "createdAt": "2026-01-01T00:00:00Z"}]},
      {"number": 8, "title": "Will not", "state": "CLOSED", "stateReason": "NOT_PLANNED",
       "closedAt": "2026-01-02T00:00:00Z"},
      {"number": 9, "title": "Done", "state": "closed", "state_reason": "completed"},
      {"number": 10, "title": "PR", "state": "open", "pull_request": {}}, {"number": 11}]"""
    found, problems = tasks(tmp_path, {"issues.json": text})
    assert [one.is_harmless for one in problems] == [True, False]
    crash = found["Crash"]
    assert facts(crash) == ("pending", "high", "2026-03-04", ("bug", "priority-high"), None)
    assert crash.description == "Boom\nDepends on #8\n\nurl: https://x/7\nassignees: ada\nmilestone: v1"
    assert crash.comments == (NoteEntry("bob: me too", "2026-01-01T00:00:00.000000Z"),)
    assert (names(found, crash), found["Will not"].status, found["Done"].status) == (
        ["Will not"],
        "cancelled",
        "completed",
    )


def test_issues_with_only_two_fields(tmp_path: Path) -> None:
    found, problems = tasks(tmp_path, {"i.json": '[{"number": 1, "title": "One"}]'})
    assert (list(found), problems) == (["One"], [])

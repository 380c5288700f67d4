"""Nine jobs of an agent over stdio, each within a budget of calls and of tokens.

A client shows a model the texts of an answer or its structured part, so the more expensive one counts.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rs_bpe.bpe import openai

from tests.support.in_process import InProcess
from tests.support.satchel import check

TOKENS = openai.o200k_base()

PLAN = [
    "Agree on the release date !urgent +release",
    "Freeze the branch !high +release after:1",
    "Write the changelog +docs after:2",
    "Update the screenshots +docs after:2",
    "Check the licences of new packages !high +legal",
    "Run the load test +ops after:2",
    "Fix what the load test finds +ops after:6",
    "Translate the new texts +docs after:3",
    "Build the packages !high +release after:3,7",
    "Announce it on the blog due:2026-12-15 +docs after:9",
    "Tell the support team due:2026-12-10",
    "Clean up old branches !low",
]


class Agent:
    """A scripted agent that counts its calls, and the tokens of its requests and answers."""

    def __init__(self, store: Path | str, *arguments: str) -> None:
        self._server = InProcess("--database", str(store), *arguments)
        self.calls = 0
        self.tokens = 0

    def __enter__(self) -> "Agent":
        self._server.__enter__()
        return self

    def __exit__(self, *raised: object) -> None:
        self._server.__exit__(*raised)

    def call(self, tool: str, /, **arguments: Any) -> Any:
        """Return the structured answer of a call that must succeed."""
        result = self._server.call(tool, arguments)
        check(tool, result)
        assert result["isError"] is False, result
        self.calls += 1
        self.tokens += count({"name": tool, "arguments": arguments}) + max(faces(result))
        return result["structuredContent"]

    def begin(self) -> None:
        """Begin another job."""
        self.calls = self.tokens = 0


def count(value: object) -> int:
    """Return the tokens of a text, or of a value as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return len(TOKENS.encode(text))


def faces(result: dict[str, Any]) -> tuple[int, int]:
    """Return the tokens of the texts of an answer, and of its structured part."""
    texts = "\n".join(one["text"] for one in result["content"] if one["type"] == "text")
    return count(texts), count(result["structuredContent"])


@pytest.fixture
def agent(tmp_path: Path) -> Iterator[Agent]:
    with Agent(tmp_path / "store.db", "--project", "default") as one:
        yield one


def test_plan_twelve_tasks_and_work_through_five(agent: Agent) -> None:
    agent.call("add_tasks", lines=PLAN)
    done = []
    for _ in range(5):
        claimed = agent.call("claim_task")
        finished = agent.call("complete_task", task=f"#{claimed['task']['number']}", fence=claimed["fence"])
        done.append(finished["task"]["title"])
    assert done[:3] == [
        "Agree on the release date",
        "Freeze the branch",
        "Check the licences of new packages",
    ]
    assert agent.calls <= 12


def words(number: int) -> str:
    """Return a text with a number of words, in lines that all differ."""
    return "\n".join(
        f"Line {start // 10 + 1}: " + " ".join(f"word{start + one}" for one in range(8))
        for start in range(0, number, 10)
    )


def test_change_a_sentence_of_a_long_prompt(agent: Agent) -> None:
    text = words(1000) + "\nAlways answer in English, whatever the question is in.\n" + words(1000).replace("L", "l")
    agent.call("add_prompts", prompts=[{"title": "House style", "content": text}])
    agent.begin()
    changed = agent.call(
        "edit_text",
        item="house-style",
        edits=[{"old": "Always answer in English, whatever", "new": "Answer in the user's language, whatever"}],
    )
    assert changed["version"] == 2 and len(changed["changed"]) == 1
    assert agent.tokens <= 250


def test_find_and_change_a_passage_of_a_large_document(agent: Agent) -> None:
    sections = [f"## Section {one}\n\n" + words(60) for one in range(1, 160)]
    sections[70] += "\n\nThe retention of audit logs is thirty days, then they are erased.\n"
    document = "# Handbook\n\n" + "\n\n".join(sections)
    assert 60_000 < len(document) < 70_000
    agent.call("add_resources", resources=[{"name": "handbook.md", "content": document}])
    agent.begin()
    [hit, *_] = agent.call("search", query="audit log retention", limit=3)["hits"]
    line = hit["line"]
    agent.call("read_resource", resource=hit["reference"], lines=f"{line - 2}-{line + 2}")
    agent.call("edit_text", item=hit["reference"], edits=[{"old": "is thirty days", "new": "is ninety days"}])
    assert agent.tokens <= 1200


def test_many_prompts_tasks_tags_and_completions(agent: Agent) -> None:
    prompts = [{"title": f"Prompt {one}", "content": f"Do the thing number {one} with care."} for one in range(50)]
    agent.call("add_prompts", prompts=prompts)
    added = agent.call("add_tasks", lines=[f"Task {one} +batch" for one in range(30)])["tasks"]
    agent.call("update_items", items=[f"prompt-{one}" for one in range(20)], tags=["+reviewed"])
    agent.call("update_items", items=[f"#{row['number']}" for row in added[:10]], status="completed")
    assert agent.calls <= 8
    assert len(agent.call("list_prompts", tags=["reviewed"])["prompts"]) == 20
    assert len(agent.call("list_tasks", status="completed")["tasks"]) == 10


def test_hand_over_to_a_new_session(agent: Agent, tmp_path: Path) -> None:
    agent.call("add_tasks", lines=PLAN)
    agent.call("add_prompts", prompts=[{"title": "Release notes", "content": "Write release notes.", "tags": ["docs"]}])
    agent.call("claim_task")
    agent.call("complete_task", task="#12", note="All but two were merged.")
    with Agent(tmp_path / "store.db", "--project", "default") as other:
        told = json.dumps(other.call("catch_up"))
        assert "Agree on the release date" in told and "Clean up old branches" in told and "release-notes" in told
        assert other.calls <= 2 and other.tokens <= 800


def test_lists_and_echoes_are_small_on_both_faces(agent: Agent) -> None:
    titles = [line.split(" !")[0].split(" +")[0].split(" due:")[0] for line in PLAN]
    marks = ("", " +docs", "", " !high", "", " due:2026-12-15")
    lines = [titles[one % 12] + marks[one % 6] for one in range(29)]
    agent.call("add_tasks", lines=lines)
    server = agent._server
    assert max(faces(server.call("list_tasks", {}))) <= 500
    assert max(faces(server.call("update_task", {"task": "#4", "priority": "urgent", "tags": ["+now"]}))) <= 80
    assert max(faces(server.call("complete_task", {"task": "#4"}))) <= 80


def test_two_agents_never_take_the_same_task(agent: Agent, tmp_path: Path) -> None:
    agent.call("add_tasks", lines=[f"Task {one}" for one in range(10)])
    with Agent(tmp_path / "store.db", "--project", "default") as other:
        taken = [one.call("claim_task")["task"]["number"] for _ in range(5) for one in (agent, other)]
    assert sorted(taken) == list(range(1, 11))


def test_find_what_was_named_otherwise_and_take_a_mistake_back(agent: Agent) -> None:
    agent.call(
        "add_prompts",
        prompts=[
            {
                "title": "Postmortem",
                "content": "Write a postmortem about {{ incident }}, {{ tone | default('calm') }}.",
            },
            {"title": "Meeting notes", "content": "Summarize the meeting."},
        ],
    )
    agent.begin()
    [hit, *_] = agent.call("search", query="post mortem")["hits"]
    assert hit["reference"] in ("postmortem", "satchel://prompt/postmortem")
    filled = agent.call("get_prompt", prompt=hit["reference"], arguments={"incident": "the outage"})
    assert filled["text"] == "Write a postmortem about the outage, calm."
    agent.call("delete", items=["Postmortem", "meeting_notes"])
    agent.call("restore", item="postmortem")
    assert [row["name"] for row in agent.call("list_prompts")["prompts"]] == ["postmortem"]
    assert agent.calls <= 5


def test_tidy_up_by_a_query_and_take_it_back(agent: Agent) -> None:
    for half in range(2):
        agent.call("add_tasks", lines=[f"Chore {half * 60 + number} +chore" for number in range(60)])
    agent.call("add_tasks", lines=[*PLAN, "Ship after:9"])
    agent.begin()
    planned = agent.call("update_items", where={"tags": ["docs"]}, priority="high", due="2026-12-20", dry_run=True)
    done = agent.call("update_items", where={"tags": ["docs"]}, priority="high", due="2026-12-20")
    assert planned == {**done, "dry_run": True} and len(done["items"]) == 4
    assert len(agent.call("delete", where={"query": "chore"})["deleted"]) == 120
    freeze, announce, ship = 122, 130, 133
    assert [task["number"] for task in agent.call("delete", items=[129])["ready"]] == [announce, ship]
    answer = agent.call("restore", items=[129, 1, 2])
    assert [one["item"] for one in answer["items"]] == ["#129", "#1", "#2"]
    assert agent.call("get_task", task=f"#{freeze}")["task"]["version"] == 1
    assert agent.calls <= 6 and agent.tokens <= 6_000


def test_plan_again_with_subtasks(agent: Agent) -> None:
    agent.call("add_tasks", lines=[*PLAN, "Launch party !high", "  - Book a room", "  - Order cake after:14"])
    agent.begin()
    agent.call("update_task", task="#4", parent="#3", blocked_by=["-#2"])
    agent.call("update_items", items=["#5", "#6"], due="2026-11-01")
    agent.call("update_task", task="Clean up old branches", status="cancelled", note="Nobody misses it.")
    agent.call("complete_task", task="#14")
    party = agent.call("get_task", task="#13")["task"]
    assert party["subtasks"] == "1/2" and [one["number"] for one in party["children"]] == [14, 15]
    assert [row["number"] for row in agent.call("list_tasks", due="overdue")["tasks"]] == [5, 6]
    last = agent.call("complete_task", task="#15")
    assert any("#13" in note for note in last["notes"])
    assert agent.calls <= 7 and agent.tokens <= 1_500


def test_a_second_agent_is_kept_from_a_claimed_task_until_it_takes_it_over(agent: Agent, tmp_path: Path) -> None:
    agent.call("add_tasks", lines=["Migrate the database"])
    agent.call("claim_task")
    with Agent(tmp_path / "store.db", "--project", "default") as other:
        refused = other._server.call("complete_task", {"task": "#1"})["structuredContent"]["error"]
        assert refused["code"] == "claimed" and {"holder", "until"} <= refused.keys()
        fence = other.call("claim_task", task="#1", take_over=True)["task"]["fence"]
        told = agent.call("list_tasks")
        assert "taken over" in " ".join(told["notes"])
        other.call("complete_task", task="#1", fence=fence, note="Done on the replica first.")
    assert agent.call("list_tasks", status="completed")["tasks"][0]["number"] == 1


def test_work_in_two_projects(agent: Agent) -> None:
    agent.call("add_project", name="web")
    agent.call("add_prompts", prompts=[{"title": "Tone", "content": "Calm."}])
    agent.call("add_prompts", project="web", prompts=[{"title": "Tone", "content": "Loud."}])
    agent.call("add_tasks", lines=["Write copy", "Write copy @web"])
    agent.begin()
    both = agent.call("search", query="tone", kind="prompt", project="all")["hits"]
    assert sorted(hit["project"] for hit in both) == ["default", "web"]
    agent.call("update_task", task="Write copy", project="web", note="See satchel://prompt/web/tone")
    moved = agent.call("update_task", task="Write copy", project="web", to="default")
    assert moved["notes"] == ["#2 moved from web to default."]
    assert agent.call("get_prompt", prompt="satchel://prompt/web/tone")["prompt"]["content"] == "Loud."
    assert agent.calls <= 4 and agent.tokens <= 700


def test_a_week_later(agent: Agent, tmp_path: Path) -> None:
    agent.call("remember", text="Deploys happen on Tuesdays.")
    agent.call("remember", text="The user writes British English.", project="personal")
    agent.call(
        "add_prompts", prompts=[{"title": "Old tone", "content": "Formal."}, {"title": "Tone", "content": "Warm."}]
    )
    agent.call("update_prompt", prompt="old-tone", expires="2026-01-01", replaced_by="tone")
    agent.call("add_tasks", lines=["Renew the domain due:2026-01-02", "Plan the party"])
    with Agent(tmp_path / "store.db", "--project", "default") as other:
        told = other.call("catch_up")
        assert [one["title"] for one in told["overdue"]] == ["Renew the domain"]
        assert "Tuesdays" in told["memory"][0] and "British" in told["personal_memory"][0]
        hits = other.call("search", query="tone")["hits"]
        assert [hit["reference"] for hit in hits] == ["tone", "old-tone"] and hits[1]["replaced_by"] == "tone"
        assert other.calls == 2 and other.tokens <= 900


def test_follow_the_log_of_a_task(agent: Agent) -> None:
    agent.call("add_tasks", lines=["Move to the new cluster"])
    for day in range(30):
        agent.call(
            "update_task", task="#1", note=f"Day {day}: moved shard {day}" + (", zebra lagged" if day == 7 else "")
        )
    agent.begin()
    marker = agent.call("get_task", task="#1", since="1h")["since"]
    agent.begin()
    agent.call("update_task", task="#1", note="Day 30: done but for the backups", priority="high")
    fresh = agent.call("get_task", task="#1", since=marker)
    assert [note["text"] for note in fresh["task"]["notes"]] == ["Day 30: done but for the backups"]
    assert [change["fields"] for change in fresh["changes"]] == [["priority"]]
    [hit] = agent.call("search", query="zebra lagged")["hits"]
    assert hit["reference"] == "#1" and "Day 7" in hit["text"]
    assert agent.calls == 3 and agent.tokens <= 500


def test_templates_with_includes_and_labels(agent: Agent) -> None:
    agent.call("add_resources", resources=[{"name": "tone.md", "content": "Be {{ mood }}."}])
    [made] = agent.call(
        "add_prompts", prompts=[{"title": "Reply", "content": '{% include "tone.md" %} Answer {{ mail }}.'}]
    )["prompts"]
    assert sorted(made["arguments"]) == ["mail", "mood"]
    agent.call("update_prompt", prompt="reply", label="production")
    agent.call("edit_text", item="reply", edits=[{"old": "Answer", "new": "Refuse"}])
    agent.begin()
    values = {"mail": "it", "mood": "kind"}
    filled = agent.call("get_prompt", prompt="reply@production", arguments=values)
    assert filled["text"] == "Be kind. Answer it." and filled["version"] == 1
    assert agent.call("get_prompt", prompt="reply", arguments=values)["text"] == "Be kind. Refuse it."
    assert agent.call("delete", items=["tone.md"])["referred"][0]["item"].endswith("tone.md")
    assert agent.calls == 3 and agent.tokens <= 500

"""Prompts of other tools: each format is recognised by itself, and keeps what it can."""

from pathlib import Path

from satchel.exchange import formats
from satchel.exchange.entries import DocumentEntry, PromptEntry
from satchel.exchange.formats import BY_NAME
from satchel.model import Argument
from satchel.services import documents
from tests.exchange.corpora import read, write_files


def only(tmp_path: Path, files: dict[str, str | bytes], format: str | None = None) -> PromptEntry:
    entries, problems = read(write_files(tmp_path, files), format)
    assert problems == [] and len(entries) == 1, (entries, problems)
    assert isinstance(entries[0], PromptEntry)
    return entries[0]


def needs(name: str, description: str | None = None, *values: str) -> Argument:
    return Argument(name, description, True, values)


def takes(name: str, description: str | None = None, *values: str) -> Argument:
    return Argument(name, description, False, values)


def test_a_csv_of_prompts_chat_keeps_titles_variables_and_columns(tmp_path: Path) -> None:
    text = (
        "\ufeffact,prompt,for_devs,type,contributor\r\n"
        'Poet,"Write about ${topic} in ${Main Language:English}.\r\nGo.",TRUE,STRUCTURED,"a,b"\r\n'
        '"Terminal","echo ${HOME.dir} and {{ 1 }}",FALSE,TEXT,f\r\n'
    )
    entries, problems = read(write_files(tmp_path, {"prompts.csv": text}))
    poet, terminal = entries
    assert problems == []
    assert isinstance(poet, PromptEntry) and isinstance(terminal, PromptEntry)
    assert (poet.name, poet.title, poet.tags) == (None, "Poet", ("dev", "structured"))
    assert poet.content == 'Write about {{ topic }} in {{ Main_Language | default("English", true) }}.\r\nGo.'
    assert poet.arguments == (needs("topic"), takes("Main_Language", "Main Language"))
    assert poet.description == "contributor: a,b"
    assert (terminal.content, terminal.arguments) == ("echo ${HOME.dir} and {{ 1 }}", ())
    assert terminal.notes == ("Kept as plain text: ${HOME.dir} is not a variable.",)


def test_front_matter_that_is_not_yaml_is_read_line_by_line_with_a_note(tmp_path: Path) -> None:
    prompt = only(tmp_path, {"a.md": "---\ntitle: [unclosed\ntags: [x]\n---\nBody\n"})
    assert (prompt.title, prompt.tags, prompt.content) == ("[unclosed", ("x",), "Body")
    assert len(prompt.notes) == 1 and prompt.notes[0].startswith(
        "Its front matter was read line by line: the YAML cannot be read in line "
    )


def test_a_csv_with_names_in_double_braces_has_templates(tmp_path: Path) -> None:
    prompt = only(tmp_path, {"p.csv": "act,prompt\nGreeting,Hello {{who}}\n"})
    assert (prompt.content, prompt.arguments) == ("Hello {{ who }}", (needs("who"),))


def test_variables_that_are_only_in_code_stay_text(tmp_path: Path) -> None:
    entries, _ = read(write_files(tmp_path, {"p.csv": 'act,prompt\nA,"Run:\n```sh\necho ${HOME}\n```"\n'}))
    assert isinstance(entries[0], PromptEntry)
    assert (entries[0].arguments, "${HOME}" in entries[0].content) == ((), True)


def test_a_pattern_of_fabric_is_a_folder(tmp_path: Path) -> None:
    files = {
        "patterns/summarize/system.md": "# IDENTITY\n\nYou summarise {{input}}.\n",
        "patterns/summarize/user.md": "Begin.\n",
        "patterns/summarize/README.md": "For people.\n",
    }
    prompt = only(tmp_path, dict(files))
    assert (prompt.name, prompt.title) == ("summarize", "Summarize")
    assert prompt.content == "# IDENTITY\n\nYou summarise {{ input }}.\n\nBegin."
    assert prompt.arguments == (needs("input"),)


def test_a_command_of_claude_code_has_arguments_and_a_name_space(tmp_path: Path) -> None:
    text = (
        "---\ndescription: Fix: an issue\nargument-hint: [issue-number] [priority]\n"
        "allowed-tools: Bash(git add:*), Read\nmodel: opus\n---\n\n"
        "Fix $1 as $2, then $1 again. It costs $1,000 and {{ nothing }}.\n"
    )
    prompt = only(tmp_path, {".claude/commands/git/fix.md": text})
    assert (prompt.name, prompt.title, prompt.tags) == ("git-fix", "Git fix", ("git",))
    assert prompt.content == (
        "Fix {{ issue_number }} as {{ priority }}, then {{ issue_number }} again. "
        "It costs $1,000 and {{ '{{' }} nothing }}."
    )
    assert prompt.arguments == (needs("issue_number", "issue-number"), needs("priority"))
    assert prompt.description == "Fix: an issue\n\nallowed-tools: Bash(git add:*), Read\nmodel: opus"


def test_command_arguments_are_recognised(tmp_path: Path) -> None:
    for text, content, arguments in [
        ("Do $ARGUMENTS now", "Do {{ arguments }} now", (takes("arguments", "$ARGUMENTS"),)),
        ("Greet $1 and $2", "Greet {{ arg1 }} and {{ arg2 }}", (needs("arg1"), needs("arg2"))),
        ("Run `awk '{print $1}'`", "Run `awk '{print $1}'`", ()),
        ("It costs $5", "It costs $5", ()),
        ("No variables {% if %}", "No variables {% if %}", ()),
    ]:
        prompt = only(tmp_path, {".claude/commands/x.md": text})
        assert (prompt.content, prompt.arguments) == (content, arguments)


def test_skills_and_agents_are_distinguished_by_a_tag(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "skills/pdf/SKILL.md": "---\nname: pdf-tools\ndescription: Reads PDF\nlicense: MIT\n---\n# PDF\n\nRead.\n",
        "skills/pdf/scripts/run.py": "print()",
        "skills/pdf/reference.md": "More.",
        ".claude/agents/reviewer.md": (
            "---\nname: reviewer\ndescription: |\n  Reviews.\n  Often.\n"
            "tools: Read, Grep\ncolor: red\n---\nYou review.\n"
        ),
    }
    entries, problems = read(write_files(tmp_path, files))
    agent, skill, *others = entries
    assert problems == []
    assert isinstance(skill, PromptEntry) and isinstance(agent, PromptEntry)
    assert (skill.name, skill.tags, skill.content) == ("pdf-tools", ("skill",), "# PDF\n\nRead.")
    assert skill.description == "Reads PDF\n\nlicense: MIT"
    assert skill.notes == ()
    assert others == [
        DocumentEntry(
            name="pdf-reference.md",
            content="More.",
            mime_type="text/markdown",
            uri="satchel://resource/pdf-reference.md",
            description="reference.md of skill pdf",
            where=str(tmp_path / "skills/pdf/reference.md"),
        ),
        DocumentEntry(
            name="pdf-scripts-run.py",
            content="print()",
            mime_type=documents.guess_type("run.py"),
            uri="satchel://resource/pdf-scripts-run.py",
            description="scripts/run.py of skill pdf",
            where=str(tmp_path / "skills/pdf/scripts/run.py"),
        ),
    ]
    assert (agent.name, agent.tags, agent.content) == ("reviewer", ("agent",), "You review.")
    assert agent.description == "Reviews.\nOften.\n\ntools: Read, Grep\ncolor: red"


def test_a_prompt_file_of_vs_code_asks_for_its_inputs(tmp_path: Path) -> None:
    text = "---\nmode: agent\ntools: ['a', 'b']\ndescription: Make\n---\n"
    text += "Make ${input:form-name:The form} of ${selection}.\n"
    prompt = only(tmp_path, {".github/prompts/make.prompt.md": text})
    assert prompt.name == "make"
    assert prompt.content == "Make {{ form_name }} of {{ selection }}."
    assert prompt.arguments == (
        needs("form_name", "The form"),
        takes("selection", "What VS Code calls ${selection}"),
    )
    assert prompt.description == "Make\n\nmode: agent\ntools: a, b"


def test_dotprompt_becomes_a_template_with_its_schema(tmp_path: Path) -> None:
    text = (
        "---\nmodel: googleai/gemini\ninput:\n  schema:\n    name?: string, who it is\n"
        "    style(enum, how): [formal, casual]\n  default:\n    name: Guest\n---\n"
        '{{role "system"}}\nGreet.\n{{role "user"}}\nHello {{name}}{{#if style}} in {{style}}{{else}}!{{/if}}\n'
    )
    prompt = only(tmp_path, {"greet.prompt": text})
    assert prompt.content == (
        'system:\nGreet.\nuser:\nHello {{ name | default("Guest", true) }}'
        "{% if style %} in {{ style }}{% else %}!{% endif %}"
    )
    assert prompt.arguments == (takes("name", "who it is"), needs("style", "how", "formal", "casual"))
    assert prompt.description == "model: googleai/gemini"


def test_each_role_of_dotprompt_begins_a_section(tmp_path: Path) -> None:
    text = 'Hello {{name}} {{role "model"}}Hi.\n{{#if more}}{{role "user"}}\n{{more}}{{/if}}'
    prompt = only(tmp_path, {"a.prompt": text})
    assert prompt.content == ("user:\nHello {{ name }} \nassistant:\nHi.\n{% if more %}\nuser:\n{{ more }}{% endif %}")


def test_handlebars_that_need_more_than_texts_stay_as_they_are(tmp_path: Path) -> None:
    text = "---\nmodel: x\n---\n{{#each items}}{{this.name}}{{/each}}\n"
    prompt = only(tmp_path, {"list.prompt": text})
    assert (prompt.content, prompt.arguments) == ("{{#each items}}{{this.name}}{{/each}}", ())
    assert prompt.notes == ("Kept as plain text: {{#each items}} is more than a plain variable or condition.",)


def test_prompty_declares_its_inputs(tmp_path: Path) -> None:
    text = (
        "---\nname: Basic Prompt\ndescription: A start\nauthors:\n  - ada\ntags: [One, two words]\n"
        "model:\n  api: chat\ninputs:\n  question:\n    type: string\n    description: What to ask\n"
        "  tone:\n    type: string\n    default: warm\n---\nsystem:\nBe {{tone}}.\n\nuser:\n{{ question }}\n"
    )
    prompt = only(tmp_path, {"basic.prompty": text})
    assert (prompt.name, prompt.title, prompt.tags) == ("Basic-Prompt", "Basic Prompt", ("one", "two-words"))
    assert prompt.content == 'system:\nBe {{ tone | default("warm", true) }}.\n\nuser:\n{{ question }}'
    assert prompt.arguments == (takes("tone"), needs("question", "What to ask"))
    assert prompt.description == 'A start\n\nauthors: ada\nmodel: {"api": "chat"}'


def test_rules_of_cursor_may_be_no_yaml(tmp_path: Path) -> None:
    text = "---\ndescription: TypeScript: strict\nglobs: *.ts,**/*.tsx\nalwaysApply: false\n---\n\nUse strict.\n"
    prompt = only(tmp_path, {".cursor/rules/ts.mdc": text})
    assert (prompt.name, prompt.tags, prompt.content) == ("ts", ("rule",), "Use strict.")
    assert prompt.description == "TypeScript: strict\n\nglobs: *.ts,**/*.tsx\nalwaysApply: false"


def test_a_template_of_llm_has_a_system_prompt_and_defaults(tmp_path: Path) -> None:
    text = "system: You are $role\nprompt: |\n  Say $input for $$5.\ndefaults:\n  role: a poet\nmodel: gpt-4o\n"
    prompt = only(tmp_path, {"poem.yaml": text})
    assert prompt.content == 'You are {{ role | default("a poet", true) }}\n\nSay {{ input }} for $5.'
    assert prompt.arguments == (takes("role"), needs("input"))
    assert prompt.description == "model: gpt-4o"


def test_the_production_version_of_a_langfuse_export_is_imported(tmp_path: Path) -> None:
    text = """{"data": [
        {"name": "shop/critic", "type": "chat", "version": 2, "labels": ["production"], "tags": ["Movies"],
         "config": {"model": "gpt-4o", "temperature": 0.5},
         "prompt": [{"role": "system", "content": "Be {{tone}}."}, {"type": "placeholder", "name": "history"},
                    {"role": "user", "content": "{{question}}"}]},
        {"name": "shop/critic", "type": "text", "version": 3, "labels": ["latest"], "prompt": "draft"},
        {"name": "plain", "type": "text", "version": 1, "labels": [], "prompt": "{{#if x}}no{{/if}}"}
    ], "meta": {"page": 1}}"""
    entries, problems = read(write_files(tmp_path, {"langfuse.json": text}))
    critic, plain = entries
    assert isinstance(critic, PromptEntry) and isinstance(plain, PromptEntry) and problems == []
    assert (critic.name, critic.title, critic.tags) == ("shop-critic", "shop/critic", ("movies",))
    assert critic.content == "system:\nBe {{ tone }}.\n\nuser:\n{{ question }}"
    assert critic.description == "model: gpt-4o\ntemperature: 0.5"
    assert critic.notes == ("Version 2 of 2 versions is imported.", "1 placeholders for messages are left out.")
    assert (plain.content, plain.arguments) == ("{{#if x}}no{{/if}}", ())


def test_markdown_with_front_matter_in_nested_folders(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/b/review.md": (
            "\ufeff---\r\ntitle: Review it\r\ndate: 2026-01-02\r\ntags: Code, größe\r\n"
            "variables:\r\n  - name: code\r\n    description: What\r\n  - tone\r\n---\r\n"
            "Review {{code}}, {{ tone }}.\r\n"
        ),
        "a/plain.md": "# A title\n\nThe text.\n",
        "a/README.md": "# For people\n",
        "a/workflow.md": "---\ntitle: CI\n---\nuses ${{ secrets.TOKEN }} and {{ github.sha }}\n",
    }
    entries, problems = read(write_files(tmp_path, files))
    prompts = {one.label: one for one in entries if isinstance(one, PromptEntry)}
    assert problems == [] and sorted(prompts) == ["plain", "review", "workflow"]
    review = prompts["review"]
    assert (review.title, review.tags, review.description) == ("Review it", ("code", "größe"), "date: 2026-01-02")
    assert review.content == "Review {{ code }}, {{ tone }}."
    assert review.arguments == (needs("code", "What"), needs("tone"))
    assert prompts["plain"].title == "A title"
    assert (prompts["workflow"].arguments, "${{ secrets" in prompts["workflow"].content) == ((), True)


def test_notes_of_basic_memory_become_documents_as_they_are(tmp_path: Path) -> None:
    text = "---\ntitle: Coffee\ntype: note\npermalink: drinks/coffee\ntags:\n- brewing\n---\n\n- [fact] hot #x\n"
    entries, problems = read(write_files(tmp_path, {"drinks/Coffee.md": text}))
    assert problems == []
    [note] = entries
    assert isinstance(note, DocumentEntry)
    assert (note.name, note.content, note.mime_type) == ("drinks-coffee.md", text, "text/markdown")
    assert note.description == "Coffee"


def test_a_named_format_reads_what_is_not_recognised(tmp_path: Path) -> None:
    prompt = only(tmp_path, {"commands/ship.md": "Ship $ARGUMENTS\n"}, "claude-commands")
    assert (prompt.name, prompt.content) == ("ship", "Ship {{ arguments }}")


def test_the_names_that_help_pages_list_are_those_of_the_table() -> None:
    assert {*formats.OTHER_NAMES.values()} <= {*BY_NAME}
    assert [formats.find_name(given) for given in ("todo.txt", "Claude_Agents", ".mdc", "nothing")] == [
        "todo-txt",
        "claude-agents",
        "cursor-rules",
        None,
    ]

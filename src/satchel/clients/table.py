"""The clients into which Satchel can be installed, as one literal table.

A path may begin with `~`, the home folder; with `%config%`, where applications of the platform keep their settings;
or with `$NAME`, an environment variable that moves the client's files: if it is set, only such paths apply. The
first existing path is used, or else the first one.

In the shape of an entry, a text like COMMAND stands for a value; a member with an empty value is omitted.
"""

from typing import Any, Literal

from msgspec import Struct

COMMAND, ARGUMENTS, WHOLE_COMMAND, VARIABLES = "{command}", "{args}", "{command and args}", "{env}"
NAME = "{name}"  # the server's name in the client
URL, TOKEN, TOKEN_VARIABLE = "{url}", "{token}", "{name of the variable with the token}"

Shape = dict[str, Any]
Paths = tuple[str, ...]

_BEARER: Shape = {"Authorization": TOKEN}
_STDIO: Shape = {"command": COMMAND, "args": ARGUMENTS, "env": VARIABLES}


class Hook(Struct, frozen=True, kw_only=True):
    """How a client runs a command at the start of a session, and gives its output to the model."""

    user_file: Paths
    project_file: str  # relative to a project's folder
    events: dict[str, Shape]  # by key in the object `hooks` of the file; the start of a session comes first
    frame: Shape = {}  # other members that the file must have
    folder: str = ""  # the variable with the session's folder, if the command starts in another one
    answer: tuple[str, ...] = ()  # the path of the text in the JSON on stdout; empty: stdout is the text


class Client(Struct, frozen=True, kw_only=True):
    """A client: its files, the shape of an entry in them, and the signs that it is installed."""

    name: str  # on the command line
    other_names: tuple[str, ...] = ()
    title: str
    user_files: dict[str, Paths]  # by platform; "" stands for all others
    project_files: Paths = ()  # relative to a project's folder
    key: tuple[str, ...]  # the path to the object with an entry for each server
    format: Literal["json", "jsonc", "toml", "yaml"]  # with json, the client itself reads no comments
    local: Shape  # the shape of an entry with a command
    remote: Shape | None = None  # the shape of an entry with an address
    variable: str = "${{{}}}"  # how a value in the file refers to an environment variable; empty if it cannot
    defaults: Shape = {}  # members of a new entry that the user may change later
    commands: tuple[str, ...] = ()  # the client is on this machine if one of these is on the PATH
    folders: Paths = ()  # or if one of these folders exists
    user_rule: Paths = ()  # the file with the user's instructions for agents
    project_rule: str = ""  # the same file in a project
    hook: Hook | None = None  # None: its documentation has no hook that adds to a session
    next_step: str = "Restart it."


# In a session of Claude Code and Codex, `compact` is the start after a compaction.
_GROUP: Shape = {
    "matcher": "startup|resume|clear|compact",
    "hooks": [{"type": "command", "command": COMMAND, "timeout": 30}],
}

CLIENTS = (
    Client(
        name="claude-code",
        other_names=("claude",),
        title="Claude Code",
        user_files={"": ("$CLAUDE_CONFIG_DIR/.claude.json", "~/.claude.json")},
        project_files=(".mcp.json",),
        key=("mcpServers",),
        format="json",
        local={"type": "stdio", **_STDIO},
        remote={"type": "http", "url": URL, "headers": _BEARER},
        commands=("claude",),
        folders=("$CLAUDE_CONFIG_DIR", "~/.claude"),
        user_rule=("$CLAUDE_CONFIG_DIR/CLAUDE.md", "~/.claude/CLAUDE.md"),
        project_rule="CLAUDE.md",
        hook=Hook(
            user_file=("$CLAUDE_CONFIG_DIR/settings.json", "~/.claude/settings.json"),
            project_file=".claude/settings.json",
            # What a hook prints before a compaction becomes an instruction for the summary.
            events={"SessionStart": _GROUP, "PreCompact": {"hooks": _GROUP["hooks"]}},
        ),
        next_step="Start a new session; /mcp shows the connection.",
    ),
    Client(
        name="claude-desktop",
        title="Claude Desktop",
        user_files={"": ("%config%/Claude/claude_desktop_config.json",)},
        key=("mcpServers",),
        format="json",
        local=_STDIO,
        folders=("%config%/Claude",),
        next_step="Quit Claude Desktop completely, and start it again.",
    ),
    Client(
        name="cursor",
        title="Cursor",
        user_files={"": ("~/.cursor/mcp.json",)},
        project_files=(".cursor/mcp.json",),
        key=("mcpServers",),
        format="jsonc",
        local=_STDIO,
        remote={"url": URL, "headers": _BEARER},
        variable="${{env:{}}}",
        commands=("cursor", "cursor-agent"),
        folders=("~/.cursor",),
        project_rule="AGENTS.md",
        hook=Hook(
            user_file=("~/.cursor/hooks.json",),
            project_file=".cursor/hooks.json",
            events={"sessionStart": {"command": COMMAND}},
            frame={"version": 1},
            folder="CURSOR_PROJECT_DIR",
            answer=("additional_context",),
        ),
        next_step="Open Settings, Tools & MCP, and turn satchel on.",
    ),
    Client(
        name="vscode",
        other_names=("vs-code", "code"),
        title="VS Code",
        user_files={"": ("%config%/Code/User/mcp.json",)},
        project_files=(".vscode/mcp.json",),
        key=("servers",),
        format="jsonc",
        local={"type": "stdio", **_STDIO},
        remote={"type": "http", "url": URL, "headers": _BEARER},
        variable="${{env:{}}}",
        commands=("code",),
        folders=("%config%/Code/User",),
        project_rule="AGENTS.md",
        next_step="Run the command 'MCP: List Servers', and start satchel.",
    ),
    Client(
        name="codex",
        title="Codex",
        user_files={"": ("$CODEX_HOME/config.toml", "~/.codex/config.toml")},
        project_files=(".codex/config.toml",),
        key=("mcp_servers",),
        format="toml",
        local=_STDIO,
        remote={"url": URL, "bearer_token_env_var": TOKEN_VARIABLE},
        commands=("codex",),
        folders=("$CODEX_HOME", "~/.codex"),
        user_rule=("$CODEX_HOME/AGENTS.md", "~/.codex/AGENTS.md"),
        project_rule="AGENTS.md",
        hook=Hook(
            user_file=("$CODEX_HOME/hooks.json", "~/.codex/hooks.json"),
            project_file=".codex/hooks.json",
            events={"SessionStart": _GROUP},
        ),
        next_step="Start a new session; /mcp shows the connection.",
    ),
    Client(
        name="gemini-cli",
        other_names=("gemini",),
        title="Gemini CLI",
        user_files={"": ("$GEMINI_CLI_HOME/.gemini/settings.json", "~/.gemini/settings.json")},
        project_files=(".gemini/settings.json",),
        key=("mcpServers",),
        format="jsonc",
        local=_STDIO,
        # Versions without `type` use the older transport for `url`, so the older key is the safe one.
        remote={"httpUrl": URL, "headers": _BEARER},
        commands=("gemini",),
        folders=("$GEMINI_CLI_HOME/.gemini", "~/.gemini"),
        user_rule=("$GEMINI_CLI_HOME/.gemini/GEMINI.md", "~/.gemini/GEMINI.md"),
        project_rule="GEMINI.md",
        hook=Hook(
            user_file=("$GEMINI_CLI_HOME/.gemini/settings.json", "~/.gemini/settings.json"),
            project_file=".gemini/settings.json",
            events={
                "SessionStart": {
                    "hooks": [{"name": "satchel", "type": "command", "command": COMMAND, "timeout": 30_000}]
                }
            },
            answer=("hookSpecificOutput", "additionalContext"),
        ),
        next_step="Start a new session in a folder that you trust; /mcp shows the connection.",
    ),
    Client(
        name="copilot-cli",
        other_names=("copilot",),
        title="Copilot CLI",
        user_files={"": ("$COPILOT_HOME/mcp-config.json", "~/.copilot/mcp-config.json")},
        project_files=(".github/mcp.json",),
        key=("mcpServers",),
        format="json",
        local={"type": "local", **_STDIO},
        remote={"type": "http", "url": URL, "headers": _BEARER},
        defaults={"tools": ["*"]},
        commands=("copilot",),
        folders=("$COPILOT_HOME", "~/.copilot"),
        user_rule=("$COPILOT_HOME/copilot-instructions.md", "~/.copilot/copilot-instructions.md"),
        project_rule="AGENTS.md",
        hook=Hook(
            user_file=("$COPILOT_HOME/hooks/satchel.json", "~/.copilot/hooks/satchel.json"),
            project_file=".github/hooks/satchel.json",
            events={"sessionStart": {"type": "command", "bash": COMMAND, "timeoutSec": 30}},
            frame={"version": 1},
            answer=("additionalContext",),
        ),
        next_step="Start a new session; /mcp show lists it.",
    ),
    Client(
        name="opencode",
        title="opencode",
        user_files={
            "": (
                "$XDG_CONFIG_HOME/opencode/opencode.json",
                "$XDG_CONFIG_HOME/opencode/opencode.jsonc",
                "~/.config/opencode/opencode.json",
                "~/.config/opencode/opencode.jsonc",
            )
        },
        project_files=("opencode.json", "opencode.jsonc"),
        key=("mcp",),
        format="jsonc",
        local={"type": "local", "command": WHOLE_COMMAND, "environment": VARIABLES},
        remote={"type": "remote", "url": URL, "headers": _BEARER},
        variable="{{env:{}}}",
        defaults={"enabled": True},
        commands=("opencode",),
        folders=("$XDG_CONFIG_HOME/opencode", "~/.config/opencode"),
        user_rule=("$XDG_CONFIG_HOME/opencode/AGENTS.md", "~/.config/opencode/AGENTS.md"),
        project_rule="AGENTS.md",
        next_step="Start it again; 'opencode mcp list' shows the connection.",
    ),
    Client(
        name="windsurf",
        title="Windsurf",
        user_files={"": ("~/.codeium/windsurf/mcp_config.json",)},
        key=("mcpServers",),
        format="jsonc",
        local=_STDIO,
        remote={"serverUrl": URL, "headers": _BEARER},
        variable="${{env:{}}}",
        commands=("windsurf",),
        folders=("~/.codeium/windsurf",),
        project_rule="AGENTS.md",
        next_step="Press refresh in Cascade's MCP panel.",
    ),
    Client(
        name="zed",
        title="Zed",
        user_files={
            "": ("%config%/zed/settings.json",),
            "darwin": ("~/.config/zed/settings.json",),
        },
        project_files=(".zed/settings.json",),
        key=("context_servers",),
        format="jsonc",
        local={"source": "custom", **_STDIO},
        remote={"url": URL, "headers": _BEARER},
        variable="",  # Zed sends headers unchanged
        commands=("zed", "zeditor"),
        folders=("%config%/zed", "~/.config/zed"),
        project_rule="AGENTS.md",
        next_step="The agent panel's settings show a green dot.",
    ),
    Client(
        name="cline",
        title="Cline",
        user_files={
            "": (
                "$CLINE_MCP_SETTINGS_PATH",
                "%config%/Code/User/globalStorage/saoudrizwan.claude-dev/settings/cline_mcp_settings.json",
                "~/.cline/data/settings/cline_mcp_settings.json",
            )
        },
        key=("mcpServers",),
        format="json",
        local=_STDIO,
        remote={"type": "streamableHttp", "url": URL, "headers": _BEARER},
        variable="${{env:{}}}",
        defaults={"disabled": False, "autoApprove": []},
        commands=("cline",),
        folders=("%config%/Code/User/globalStorage/saoudrizwan.claude-dev", "~/.cline"),
        project_rule="AGENTS.md",
        next_step="Its MCP Servers panel shows the connection.",
    ),
    Client(
        name="qwen-code",
        other_names=("qwen",),
        title="Qwen Code",
        user_files={"": ("~/.qwen/settings.json",)},
        project_files=(".qwen/settings.json",),
        key=("mcpServers",),
        format="jsonc",
        local=_STDIO,
        remote={"httpUrl": URL, "headers": _BEARER},  # `url` would mean the older transport
        commands=("qwen",),
        folders=("~/.qwen",),
        user_rule=("~/.qwen/QWEN.md",),
        project_rule="QWEN.md",
        next_step="Start a new session; /mcp shows the connection.",
    ),
    Client(
        name="kiro",
        title="Kiro",
        user_files={"": ("~/.kiro/settings/mcp.json",)},
        project_files=(".kiro/settings/mcp.json",),
        key=("mcpServers",),
        format="json",
        local=_STDIO,
        remote={"url": URL, "headers": _BEARER},
        defaults={"disabled": False, "autoApprove": []},
        commands=("kiro", "kiro-cli"),
        folders=("~/.kiro",),
        project_rule="AGENTS.md",
        next_step="Its MCP Servers panel, or /mcp in its command line, shows the connection.",
    ),
    Client(
        name="amp",
        title="Amp",
        user_files={"": ("~/.config/amp/settings.json", "~/.config/amp/settings.jsonc")},
        project_files=(".amp/settings.json", ".amp/settings.jsonc"),
        key=("amp.mcpServers",),
        format="jsonc",
        local=_STDIO,
        remote={"url": URL, "headers": _BEARER},
        commands=("amp",),
        folders=("~/.config/amp",),
        user_rule=("~/.config/amp/AGENTS.md",),
        project_rule="AGENTS.md",
        next_step="Start it again; 'amp mcp doctor' shows the connection.",
    ),
    Client(
        name="goose",
        title="goose",
        user_files={"": ("~/.config/goose/config.yaml",)},
        key=("extensions",),
        format="yaml",
        local={"name": NAME, "type": "stdio", "cmd": COMMAND, "args": ARGUMENTS, "envs": VARIABLES},
        remote={"name": NAME, "type": "streamable_http", "uri": URL, "headers": _BEARER},
        variable="",  # its documentation has none for headers
        defaults={"enabled": True, "timeout": 300},
        commands=("goose",),
        folders=("~/.config/goose",),
        project_rule="AGENTS.md",
        next_step="Start a new session; 'goose info -v' shows the entry.",
    ),
)
# The shape that most clients read. It is printed for clients outside the table, and has no file.
GENERIC = Client(
    name="json",
    title="another client",
    user_files={},
    key=("mcpServers",),
    format="json",
    local=_STDIO,
    remote={"type": "http", "url": URL, "headers": _BEARER},
)
BY_NAME = {name: client for client in CLIENTS for name in (client.name, *client.other_names)}

"""What `satchel` says on a terminal when it is called alone."""

from satchel import __version__

TEXT = f"""\
Satchel {__version__} keeps prompts, documents and tasks for your AI agents.

  satchel install    connect Claude Code, Cursor, VS Code, Codex, Gemini CLI and others
  satchel doctor     check that everything works

All commands: satchel --help
"""

"""The page for people: server-rendered HTML on the same services as the contracts. It knows no SQL and no MCP.

site        one request for a page: the caller, the view, the errors
views       every address of the page, as one table
visit       the argument and the results of a view
markup      turns values into HTML: templates, static files, Markdown, differences, times
words       errors in sentences for people
home        search over everything, and recent changes
prompts     prompts: list, read, add, edit, delete
filling     filling in a prompt, stored or of a library; libraries with their problems
versions    the versions of an item, the difference between two, restore, conflicts with an open form
documents   documents: list, read, add, edit, download
tasks       tasks: list, read, add, edit, notes, board
activity    changes with their authors, undo, the trash
projects    projects: list, add, rename, delete
connect     instructions for connecting clients to this server
settings    tokens: create, list, revoke

Nothing here is imported before the first request for a page.
"""

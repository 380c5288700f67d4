"""The page for people: server-rendered HTML over the same services as the contracts. Knows no SQL and no MCP.

site        one request for a page: who asks, may they, which view answers, what goes wrong
views       every address of the page, as one table
visit       what a view gets, and what it returns
markup      templates, static files, Markdown, differences, times: values into HTML
words       errors in sentences for people
home        search over everything, and what changed last
prompts     prompts: list, read, add, edit, delete
filling     a prompt filled in, stored or of a library; libraries with their problems
versions    the versions of an item, the difference between two, restore, what changed while a form was open
documents   documents: list, read, add, edit, download
tasks       tasks: list, read, add, edit, notes, board
activity    every change, by whom; undo; the trash
projects    projects: list, add, rename, delete
connect     how clients connect to this server
settings    tokens: create, list, revoke

Nothing here is imported before a page is asked for.
"""

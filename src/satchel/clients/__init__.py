"""The settings files of MCP clients: where they are, what an entry looks like, and how one entry is changed.

Nothing here runs a shell, and nothing is written that was not read back and compared first.

table    the clients: their files, keys and shapes of an entry, as one literal table
places   the paths of those files on this machine, and which clients are on it
entries  what an entry says: the command to start, or the address of a server
changes  the change of one client's file, planned first and then made
merging  how an entry in a file becomes the one that is wanted; reads entries back
jsonc    reads JSON with comments, and where each member stands
json_edits  changes one member of such a document, by its position in the text
toml     the same for the keys of a table of a TOML document
files    reads a file within bounds, keeps a backup, and replaces it atomically
diffs    a change as a diff that shows no value of other entries
rules    the lines for AGENTS.md and CLAUDE.md that tell an agent when to use Satchel
probe    starts an entry, or calls its address, and speaks MCP with it
"""

"""The settings files of MCP clients: their paths, the shape of an entry, and safe changes of one entry.

The files contain their owners' comments, other servers and keys. Therefore an edit changes only the characters of our
entry; the result is parsed again and must equal the old document with this one change, or nothing is written. No code
here runs a shell. Functions that take a path raise `UnusableFile`; jsonc, toml and yaml raise `WrongSyntax`.

table    the clients: their files, keys and shapes of an entry, as one literal table
places   the paths of those files on this machine, and which clients are installed
entries  makes and reads entries: a command to start, or the address of a server
changes  plans, shows and makes the change of one file; the rule for agents
hooks    the hooks with which sessions begin: adds and removes ours
merging  reads, sets and removes an entry in the text of a file
jsonc    reads JSON with comments, and changes one member by its position
toml     changes one table of a TOML document with tomlkit
yaml     changes one entry of a YAML document by its lines
files    reads a file within bounds, keeps a backup, and replaces it atomically
probe    starts the server of an entry, or calls its address, and speaks MCP with it
"""

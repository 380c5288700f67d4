"""The command line: one module per noun or job, imported when its command is called.

app         the table of commands, `satchel help`, and hints at mistakes
session     the session of a command: options, the open store, calls of tools
output      sentences, tables, JSON, colours, progress
errors      exit statuses, error codes, errors in sentences
completion  names that a shell completes; `satchel completion`
examples    the examples in the help
items       commands and contents that prompts, documents and tasks share
prompt      `satchel prompt`
document    `satchel document`, `remember`
task        `satchel task`
project     `satchel project`
search      `satchel search`, `catch-up`
board       `satchel board`
terminal    single keys and whole screens, for the board
history     `satchel log`, `diff`, `undo`, `trash`, `purge`, `history`
backup      `satchel backup`, `restore`, `dump`, `load`
database    `satchel database`
importing   `satchel import`
exporting   `satchel export`
sync        `satchel sync`
library     `satchel library`
install     `satchel install`, `uninstall`
doctor      `satchel doctor`
serve       `satchel serve`, whose options are parsed without click
open        `satchel open`
token       `satchel token`
user        `satchel user`
contract    `satchel contract`
"""

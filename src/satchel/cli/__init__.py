"""The command line: one module per noun, each loaded only when its command is called.

main      the table of commands
serve     `satchel serve`, whose options are parsed without click
install   `satchel install`: puts Satchel into the settings of MCP clients
uninstall  `satchel uninstall`: takes it out
doctor    `satchel doctor`: looks at everything that Satchel needs
findings  what `doctor` finds, and how it is repaired
check_machine  interpreter, data folder, libraries, watcher and port
check_store  the store
check_clients  the clients that start Satchel
place     the project that a command works in
moving    `copy` and `move` of prompts, resources and tasks
completion  `satchel completion`: the script of a shell
complete  what a shell offers for arguments and options
welcome   what `satchel` alone says on a terminal
contract  `satchel contract`: the contracts and their schemas
database  `satchel database`: migrate and inspect a store
backup    `satchel backup`: copies a store to a file
dump      `satchel dump`: writes a store as JSON Lines
load      `satchel load`: reads a dump into an empty store
library_sources  its commands add, update and remove
library   `satchel library`: libraries of prompt templates
project   `satchel project`
prompt    `satchel prompt`
resource  `satchel resource`
prompt_arguments  the arguments of prompts: how they are declared and given
task      `satchel task`
task_work  its commands for working on tasks
tasks_shown  how commands show tasks
days      days as people write them
items     what the commands on prompts, resources and tasks share
lists     what the commands that list share
calls     calls of the tools of the `satchel` contract
board     `satchel board`: tasks as a live board on the terminal
board_view  what the board shows
keyboard  a terminal that gives single keys
search    `satchel search`: finds by words
catch_up  `satchel catch-up`: where things stand
import_items `satchel import`: from files of other tools
export_items `satchel export`: into files
sync      `satchel sync`: a folder and a project kept the same
log       `satchel log`: what changed, and who did it
diff      `satchel diff`: two versions of an item
restore   `satchel restore`: an old version, or a deleted item, becomes the newest, or a backup the store
undo      `satchel undo`: takes back what a user did last
trash     `satchel trash`: what was deleted
purge     `satchel purge`: removes an item for good
history   `satchel history`: what history costs
open      `satchel open`: the page in the browser
token     `satchel token`: bearer tokens for HTTP
user      `satchel user`: the local user
client_options  what `install` and `uninstall` share
store     what the commands on the store share: their options, opening it, calling tools
exits     the exit statuses and codes of errors
ending    ends a command with an error
typos     what was meant by an unknown command, option or value
help      adds examples to the help of commands
examples  these examples
colors    whether colours are printed
printing  prints text and JSON, without characters that a terminal would act on
tables    tables on a terminal
progress  a progress bar on a terminal
explain   errors of the store in words
changes   changes as the commands on history show them
content   a content from an argument, a file, stdin or the editor
"""

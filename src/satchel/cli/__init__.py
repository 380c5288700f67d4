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
library   `satchel library`: libraries of prompt templates
project   `satchel project`
prompt    `satchel prompt`
resource  `satchel resource`
task      `satchel task`
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
store     what the commands on the store share: opening the store, exit statuses
printing  prints text, tables and JSON, without characters that a terminal would act on
progress  a progress bar on a terminal
explain   errors of the store in words
changes   changes as the commands on history show them
content   a content from an argument, a file, stdin or the editor
"""

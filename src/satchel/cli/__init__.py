"""The command line: one module per noun, each loaded only when its command is called.

main      the table of commands
serve     `satchel serve`, whose options are parsed without click
contract  `satchel contract`: the contracts and their schemas
database  `satchel database`: migrate, inspect and copy a store
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
restore   `satchel restore`: an old version, or a deleted item, becomes the newest
undo      `satchel undo`: takes back what a user did last
trash     `satchel trash`: what was deleted
purge     `satchel purge`: removes an item for good
history   `satchel history`: what history costs
token     `satchel token`: bearer tokens for HTTP
user      `satchel user`: the local user
store     what they share: opening the store, printing, exit statuses
explain   errors of the store in words
changes   changes as the commands on history show them
content   a content from an argument, a file, stdin or the editor
"""

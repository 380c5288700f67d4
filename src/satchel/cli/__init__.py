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
token     `satchel token`: bearer tokens for HTTP
user      `satchel user`: the local user
store     what they share: opening the store, printing, exit statuses
content   a content from an argument, a file, stdin or the editor
"""

"""The command line: one module per noun, each loaded only when its command is called.

main        the table of commands
serve       `satchel serve`, whose options are parsed without click
contract, database, library, project, prompt, resource, task, token, user
            the commands of that name
store       what they share: opening the store, printing, exit statuses
content     a content from an argument, a file, stdin or the editor
"""

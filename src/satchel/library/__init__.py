"""Libraries: folders of prompt templates on disk, read live. Their content is not trusted.

files      reads inside one folder and follows no link
manifest   parses twig.toml and collects every problem in it
heads      reads prompts that declare themselves in front matter
contents   the texts of a library on disk
sandbox    what a template can reach
templates  compiles and renders templates
parts      the files that a template includes or extends
roles      the sections of prompts of several messages
names      finds the names that a template uses and does not set
conditions finds where a template asks whether a variable has a value
worker     the program of a separate process that parses TOML and renders templates
worker_process  starts one and exchanges messages with it
render     runs worker processes: deadlines, restarts
catalog    an immutable snapshot of all libraries, replaced when the disk changes
filling    renders a prompt of a library with the files that it includes
skills     reads the skills of a library
origins    where a library was added from
unpacking  writes the files of others into a new folder, within bounds
archives   reads zip and tar archives
git        fetches a commit and reads its files
swapping   exchanges two folders
installing adds, updates and removes libraries from elsewhere
watch      notices changes on the disk
validate   checks libraries for their authors
"""

"""Import, export and sync: what people keep in files, and what the store keeps. It knows services, and no contract.

entries       the values between a format and the store
sources       finds and reads the files to import
front_matter  reads and writes front matter
templates     templates of others and ours, by their pieces
cleaning      values of others as values that the store takes
format_names  the names of the formats
formats       one module for each format, and the table of them
reading       files of any format as entries
ledger        what an import knows about the store
placing       the place of an entry in the store
placing_prompts    places prompts
placing_documents  places documents
placing_tasks      places tasks
importing     brings entries into the store
snapshot      what a project holds, as entries
folder        the folder of a project
prompt_file   the file of a prompt in it
task_file     the file of tasks in it
writing       writes files whole or not at all
exporting     writes what a project holds into files
sync_store    the changes that a sync makes to the store
sync_state    what a folder and a project had in common after the last sync
sync_plan     what a sync has to do
syncing       keeps a folder and a project the same
"""

"""Import, export and sync: what people keep in files, and what the store keeps. It knows services, and no contract.

entries       the values between a format and the store
cleaning      foreign values as values that the store takes
sources       finds, reads and writes files
templates     foreign templates as ours, and the other way
formats       a module for each format, and the table of them
storing       reads a project as entries, and adds, changes and deletes them
importing     reads files of any format, and brings their entries into the store
folder        the folder of a project
task_file     the file of tasks in it
exporting     writes what a project holds into files
sync_plan     what a folder and a project had in common, and what a sync has to do
syncing       keeps a folder and a project the same
"""

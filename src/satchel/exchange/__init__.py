"""Import, export and sync between files and the store. It uses services and no contract.

entries       the values between a format and the store
cleaning      converts foreign values into values that the store accepts
sources       finds, reads and writes files
templates     foreign templates as ours, and the other way
formats       a module for each format, and the table of them
storing       reads a project as entries, and adds, changes and deletes them
importing     reads files of any format, and brings their entries into the store
folder        the folder of a project
task_file     the file of tasks in it
exporting     writes a project into files
sync_plan     the common state of a folder and a project, and the steps of a sync
syncing       keeps a folder and a project the same
"""

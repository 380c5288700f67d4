"""Import, export and sync between files and the store. It uses services and no contract.

Functions that read or write a file raise `entries.Unreadable`.

entries       the values between a format and the store
cleaning      converts foreign values into values that the store accepts
sources       finds, reads and writes files
templates     converts templates of other tools into Satchel's, and back
formats       a module for each format, and the table of them
storing       reads a project as entries, and adds, changes and deletes them
importing     reads files of any format, and adds their entries to the store
folder        the folder of a project
task_file     the file of tasks in that folder
exporting     writes a project into files
sync_plan     the common state of a folder and a project, and the steps of a sync
syncing       keeps a folder and a project in sync
"""

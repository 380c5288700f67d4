"""Schema 6: claims, notes and cancelled tasks, and the keys of repeated calls."""

from satchel.storage.migrations.migration import Migration

STEP = Migration(both="")

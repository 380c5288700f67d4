"""Schema 7: links between items."""

from satchel.storage.migrations.migration import Migration

STEP = Migration(both="")

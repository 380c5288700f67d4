"""Schema 5: the words by which items are found."""

from satchel.storage.migrations.migration import Migration

STEP = Migration(both="")

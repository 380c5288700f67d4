"""Users who try to hurt the others: each row of the hostile test that Satchel failed once, as a test that stays."""

"""The rules: what may be done with prompts and projects. Plain functions that know no JSON, no SQL and no protocol."""

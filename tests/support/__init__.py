"""What the tests stand on: a PostgreSQL of their own, a raw MCP client, the official models as a judge."""

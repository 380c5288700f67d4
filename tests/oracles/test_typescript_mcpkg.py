"""The official TypeScript clients, 1.x and 2.x, talk to a real `mcpkg` server; what they hand their callers is compared whole.

The content is made here with our own command line; each client has one conversation (ts/mcpkg.mjs) on a store of its own.
"""

import base64
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from satchel import __version__
from tests.oracles import node
from tests.oracles.test_typescript import NEWEST, NOT_CACHED, Conversation

"""``python -m ioopt``: the command line."""

from __future__ import annotations

import sys

from ioopt.cli.main import main

sys.exit(main())

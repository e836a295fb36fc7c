"""``python -m ioopt``: the command line."""

import sys

from ioopt.cli.main import main

sys.exit(main())

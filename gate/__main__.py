"""`python -m gate`, and `python -I path/to/gate/__main__.py` as the Action starts it from its own checkout."""

import sys
from pathlib import Path

if not __package__:
    # Isolated mode puts neither the script's folder nor the current one on the path; only our own folder is added.
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gate.cli import main

sys.exit(main())

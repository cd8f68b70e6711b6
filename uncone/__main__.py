"""The command `uncone`, and `python -m uncone`."""

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads is an interruption too."""
    # A BLAS thread without work sleeps at once: looking for some for milliseconds takes a fifth of a short command.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "8")
    try:
        from uncone.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

"""The command `uncone`, and `python -m uncone`."""

import sys

__all__ = ["main"]


def main() -> None:
    """Load the command line and run it; Ctrl-C while it loads is an interruption too."""
    try:
        from uncone.cli.main import main as run
    except KeyboardInterrupt:
        sys.exit(130)
    run()


if __name__ == "__main__":
    main()

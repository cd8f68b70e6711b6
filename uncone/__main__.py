"""`python -m uncone`."""

from uncone.cli.main import main

if __name__ == "__main__":
    main()

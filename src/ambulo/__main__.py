"""``python -m ambulo``: the same as the ``ambulo`` command."""

from ambulo.cli.main import main

if __name__ == "__main__":
    main()

"""`python -m tcptutor`."""

from tcptutor.cli import main

if __name__ == "__main__":
    main()

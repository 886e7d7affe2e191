"""`python -m tcptutor`."""

from tcptutor.commands import main

if __name__ == "__main__":
    main()

"""What every room uses: errors, units, files, places, printable text, archives and columns."""

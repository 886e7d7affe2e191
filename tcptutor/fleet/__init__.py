"""Many experiments at once: on the cores of this machine, or on the workers of a Dask cluster."""

"""Chart of a run: axes, scene, curves and strips over one time axis."""

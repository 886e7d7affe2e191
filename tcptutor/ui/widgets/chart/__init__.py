"""Chart of a run: axes, scene, curves and strips over a common time axis."""

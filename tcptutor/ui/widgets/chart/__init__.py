"""Chart of a run: axes, canvas, scene, curves and strips over one time axis."""

"""What a student takes home: predictions, runs with charts, answers and notes, as Markdown or HTML."""

"""From a study to its datasets: what must be measured, in which pieces, and where."""

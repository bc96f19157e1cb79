"""What several figures share: scales, controls, legends, the look."""

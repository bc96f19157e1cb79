"""What authors write, however it ends or does not end."""

"""What must hold of datasets beyond their schemas."""

"""The files a reader's browser loads: how measurements become JSON, and back. No torch here."""

"""The HTTP face: one file per resource; it parses, asks and answers."""

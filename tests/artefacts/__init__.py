"""What is installed elsewhere, run as it is run there: one journey, whatever the artefact."""

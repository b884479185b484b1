"""One actor per edge account; it owns that account's operations, timers and budget of reads."""

"""One actor per edge account; it owns that account's operations and timers."""

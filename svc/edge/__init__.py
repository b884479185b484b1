"""The edge platform's API, one file per area; the only room that speaks HTTP to the outside."""

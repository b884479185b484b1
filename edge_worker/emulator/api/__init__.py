"""The platform's API: authorization (access, permissions), wire format (wire), and one file per resource."""

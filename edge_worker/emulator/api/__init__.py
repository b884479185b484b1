"""The platform's API: authorization (access, rights), wire format (wire), and one file per resource."""

"""The workerd processes behind the API, their configuration, and what runs in them beside the scripts (js/)."""

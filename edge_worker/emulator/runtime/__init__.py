"""The workerd processes behind the API, their configuration, and the code that runs next to the scripts (js/)."""

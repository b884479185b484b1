"""The workerd processes behind the API, their configuration, and the code that runs beside the scripts (js/)."""

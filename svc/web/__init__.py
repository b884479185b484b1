"""The web application (JavaScript; `src/main.jsx` explains its structure), and its inputs from the service.

wire   generated sources: types, error texts, column names of imports
help   the documentation that the service serves at /help
"""

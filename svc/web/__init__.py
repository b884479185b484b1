"""The web application (JavaScript; `src/main.jsx` explains its structure), and its inputs from the service.

wire   generates sources: types, error texts, and column names for imports
help   the documentation that the service serves at /help
"""

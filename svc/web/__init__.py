"""The web application in JavaScript, and the code with which `make build` generates sources and documentation.

`src/main.jsx` explains the structure of the application.

wire   generates sources: types, error texts, and column names for imports
help   the documentation that the service serves at /help
"""

"""The web application in JavaScript (`src/main.jsx` explains its structure), and the sources that `make build`
generates for it.

wire   generates sources: types, error texts, and column names for imports
help   the documentation that the service serves at /help
"""

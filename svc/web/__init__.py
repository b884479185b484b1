"""The web application (JavaScript; `src/main.jsx` says how it is made up), and what it is given by the service."""

"""German texts for the API's codes, used by emails and the web application. The API itself responds in English.

errors      messages and remedies of error codes
findings    health check findings and remaining resources
"""

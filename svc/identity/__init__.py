"""The operator's identity, which every page and every email shows.

operator  name, contact and legal links, from the settings
logo      the logo, checked so that it is safe to serve
"""

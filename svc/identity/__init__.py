"""The operator's identity, which every page and every email shows.

operator  name, contact and legal links, from the settings
logo      the logo, checked so that it is safe to serve
links     the contact and the legal links with their labels
marks     the markers in built pages that the name and the logo replace
pages     inserts the identity into built pages
"""

"""Secrets: their formats, their rules and their storage. This package also parses IP networks.

api_key           the format of API keys
ip_networks       IP networks in settings, keys and sites
passwords         argon2id hashes
password_policy   rules against short and common passwords
session_tokens    the tokens of a sign-in session
vault             encryption of stored secrets with the key file
token_page        links to Cloudflare's token form with prefilled permissions
"""

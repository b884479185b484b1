"""Secrets: how they look, how they are stored, and who may choose them.

api_key           the form of an API key's value
passwords         argon2id hashes; `password_policy` refuses what is guessed first
session_tokens    the tokens of a page session
vault             working tokens, sealed under the key of the key file
token_page        links to the platform's page for a new token, filled in
"""

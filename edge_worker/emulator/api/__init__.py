"""The platform's API: who may (access, rights), its common form (wire), and a file for each noun."""

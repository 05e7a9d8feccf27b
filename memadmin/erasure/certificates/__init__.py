"""Certificates: what was erased, where, by whom, checked how, and with which limits. Signed, and verifiable without us or the database."""

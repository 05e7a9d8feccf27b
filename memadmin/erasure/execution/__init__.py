"""Carrying out an approved erasure: ledger, fence, redactions, rows, technical copies, links, users, pages on disk. See `steps`."""

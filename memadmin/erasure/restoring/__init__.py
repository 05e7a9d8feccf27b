"""An older database was put back: noticing it (`guard`), and doing what the ledger says once more (`reapplying`)."""

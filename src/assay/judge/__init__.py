"""The trusted side: owns the clock, the order, the statistics and the ledger."""

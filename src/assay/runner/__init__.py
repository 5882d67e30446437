"""The untrusted side: shares a process with a candidate; imports wire and torch, no more."""

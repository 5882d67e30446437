"""The nouns: frozen, strict, hashed by content."""

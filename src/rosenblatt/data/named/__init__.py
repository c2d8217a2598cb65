"""Examples whose features have names: JSON lines, mail and texts; a vocabulary that grows, is fixed or hashed."""

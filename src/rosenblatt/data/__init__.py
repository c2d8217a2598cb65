"""Examples from anywhere: every source becomes the same stream of batches."""

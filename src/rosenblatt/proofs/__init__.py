"""Margins, bounds, separability and cone programs: statements about data that check themselves."""

"""Recording formats: one room each, all giving the same epochs (or features) object."""

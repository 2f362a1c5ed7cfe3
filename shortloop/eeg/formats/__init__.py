"""Recording formats: one module each, all giving the same epochs (or features) object."""

"""Which trials and which features a fold trains on."""

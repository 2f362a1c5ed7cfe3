"""The report of a panel: figures, tables and the page around them."""

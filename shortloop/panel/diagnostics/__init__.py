"""What shows whether a model fits a group: numbers of each row, the groups to look at, and pages of plots."""

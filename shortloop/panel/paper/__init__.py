"""Tables for papers, and plots of coefficients by group."""

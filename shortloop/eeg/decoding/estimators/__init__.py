"""The classifiers that a study can name: settings of each, and how it is trained."""

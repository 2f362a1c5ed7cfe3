"""The stages of the analysis: glue between the files of jobs and the library."""

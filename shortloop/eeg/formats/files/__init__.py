"""Finding recordings, recognising what a file is, and reading it in a process of its own."""

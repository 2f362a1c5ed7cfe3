"""One exax job each: read inputs, call the library, write outputs."""

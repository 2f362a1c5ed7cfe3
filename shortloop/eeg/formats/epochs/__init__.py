"""From a recording that MNE has opened to epochs of the classes of a study."""

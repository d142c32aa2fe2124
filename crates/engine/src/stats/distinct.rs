//! How many different values there are, from those of a sample.

//! What went wrong between two writers, named from the history of the surface.

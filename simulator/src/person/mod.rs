//! People who edit the surface beside the agents.

//! The stock surface: a board of screens with tools, revisions and a change feed.

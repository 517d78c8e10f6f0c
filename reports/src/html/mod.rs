//! A run as one HTML page that needs nothing else: no network, no other file.
//!
//! Everything that is *told* is told here, by the same code as in the terminal; the page's script
//! only draws, and only what is opened. It puts recorded text into the page as text, never as
//! markup, and the page's own policy forbids it to load anything.

mod data;
mod page;

pub use page::write;

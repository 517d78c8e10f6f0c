//! The client against a scripted relay, on a paused clock and over real sockets.

#![allow(clippy::unwrap_used)]

mod exchange;
mod hostile;
mod lifecycle;
mod mock;
mod reach;
mod secrets;
mod two_writers;
mod workers;

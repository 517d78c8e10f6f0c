//! The wires that a world is served on, and the connections of it.
//!
//! - `endpoint`: where a client finds a world.
//! - `listener`: one listener over Unix sockets, TCP, and TLS on TCP.
//! - `server`: accepts, serves HTTP/1.1, and ends every connection of a world with it.
//! - `connection`: what a fault may do to one connection.
//! - `certificate`: the self-signed certificate of this process.
//! - `dialer`: a plain connection to a world, for tests and canaries.

mod certificate;
mod connection;
mod dialer;
mod endpoint;
mod listener;
mod server;

pub use connection::Connection;
pub use dialer::{Dialed, dial};
pub use endpoint::{Endpoint, UnknownWire, Wire};
pub use server::{Server, serve, serve_at};

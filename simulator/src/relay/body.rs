use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use axum::body::Body;
use bytes::Bytes;
use http_body::{Body as HttpBody, Frame, SizeHint};

use super::hub::Hub;
use crate::journal::{Ending, Event};
use crate::wire::Connection;

/// A response's body that journals how it ended.
pub(super) struct Watched {
    body: Body,
    watch: Watch,
}

/// The end of an exchange, journaled once: by its body, or by whoever drops it first.
pub(super) struct Watch {
    hub: Arc<Hub>,
    exchange: u64,
    connection: Connection,
    bytes: u64,
    ended: bool,
}

impl Watch {
    pub(super) fn over(hub: &Arc<Hub>, exchange: u64, connection: &Connection) -> Self {
        Self {
            hub: Arc::clone(hub),
            exchange,
            connection: connection.clone(),
            bytes: 0,
            ended: false,
        }
    }

    fn end(&mut self, how: Ending) {
        if !std::mem::replace(&mut self.ended, true) {
            let (exchange, bytes) = (self.exchange, self.bytes);
            self.hub.note(Event::ResponseEnded { exchange, bytes, how });
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        let how = if self.connection.is_cut() { Ending::Reset } else { Ending::HungUp };
        self.end(how);
    }
}

impl Watched {
    pub(super) fn new(body: Body, watch: Watch) -> Self {
        let mut watched = Self { body, watch };
        watched.look();
        watched
    }

    /// A body that is known to be at its end is not asked again by HTTP.
    fn look(&mut self) {
        if self.body.is_end_stream() {
            self.watch.end(Ending::Complete);
        }
    }
}

impl HttpBody for Watched {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &polled {
            Poll::Ready(Some(Ok(frame))) => {
                let bytes = frame.data_ref().map_or(0, Bytes::len);
                self.watch.bytes += bytes as u64;
                self.look();
            }
            Poll::Ready(Some(Err(_))) => self.watch.end(Ending::Reset),
            Poll::Ready(None) => self.watch.end(Ending::Complete),
            Poll::Pending => {}
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A body with a length that stops half way, with the connection.
pub(super) struct CutInHalf {
    half: Option<Bytes>,
    length: u64,
    connection: Connection,
}

impl CutInHalf {
    pub(super) fn new(whole: &Bytes, connection: &Connection) -> Self {
        Self {
            half: Some(whole.slice(..whole.len() / 2)),
            length: whole.len() as u64,
            connection: connection.clone(),
        }
    }
}

impl HttpBody for CutInHalf {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.half.take().filter(|half| !half.is_empty()) {
            Some(half) => Poll::Ready(Some(Ok(Frame::data(half)))),
            None => {
                self.connection.close();
                Poll::Pending
            }
        }
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.length)
    }
}

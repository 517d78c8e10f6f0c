//! A record in words, for every report that a person reads.
//!
//! [`teller`] turns each entry into a [`moment`]: who, to whom, and what; [`excerpt`] chooses the moments around
//! the evidence; [`snippet`] finds what to underline in the scenario; [`words`] holds the small
//! things: times, counts, and text that is safe to print.

pub(crate) mod excerpt;
pub(crate) mod frame;
pub(crate) mod moment;
pub(crate) mod snippet;
pub(crate) mod teller;
mod told;
pub(crate) mod words;

//! Joins the surface of an invitation, reads it, and asks what somebody else changed before it
//! would put anything back.
//!
//! ```text
//! RELAY_URL=http://127.0.0.1:8787 RELAY_SESSION=planning-7 RELAY_TOKEN=… \
//!     cargo run -p relay-client --example two_writers -- screen_list
//! ```
//!
//! The relay has to be on this machine: a real one is reached through an egress proxy, and this
//! example opts out of it.

use std::error::Error;
use std::io::{Write, stdout};

use relay_client::{Approval, Client, EgressPolicy, Invitation, Owner, Participant, TrustPolicy};
use serde_json::Map;
use url::Url;

fn main() -> Result<(), Box<dyn Error>> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(work())
}

async fn work() -> Result<(), Box<dyn Error>> {
    let tool = std::env::args().nth(1).ok_or("name the tool to read the surface with")?;
    let relay = Url::parse(&std::env::var("RELAY_URL")?)?;
    let client = Client::builder()
        .trust(TrustPolicy::allowing([tool.as_str(), "changes_since"]))
        .egress(
            EgressPolicy::builder()
                .allow_unverified(true)
                .allowed_hosts(relay.host_str())
                .allowed_ports(relay.port_or_known_default())
                .build()?,
        )
        .build()?;
    let invitation = Invitation::builder()
        .relay_base_url(relay)
        .session_id(std::env::var("RELAY_SESSION")?)
        .token(std::env::var("RELAY_TOKEN")?)
        .surface_id("board")
        .build()?;

    let owner = Owner::new("example");
    let ada = Participant::new("agent-ada", "Ada", "#336699");
    let seat = client.attach(&owner, invitation, ada).await?.id;

    let mut out = stdout().lock();
    for tool in client.toolset(&owner, &seat, &Approval::default()).await? {
        writeln!(out, "tool {} (needs approval: {})", tool.name, tool.needs_approval)?;
    }
    let read = client.call(&owner, &seat, &tool, &Map::new()).await?;
    writeln!(out, "{}", read.framed)?;

    let changes = client.changes_since(&owner, &seat).await?;
    if changes.nothing_changed() {
        writeln!(out, "nothing changed since that read")?;
    } else if !changes.answered() {
        writeln!(out, "this surface cannot say what changed")?;
    }
    for change in changes.defer_to() {
        writeln!(out, "leave {:?} alone: {} by {}", change.handle, change.kind, change.actor)?;
    }
    client.detach(&owner, &seat).await?;
    Ok(())
}

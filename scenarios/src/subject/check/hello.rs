//! What an adapter says of itself, read for contradictions.

use std::collections::BTreeSet;

use super::{Finding, Level};
use crate::subject::protocol::{Capability, Config, Hello};

/// Findings about a `hello` that could be read.
pub(super) fn read(hello: &Hello) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut wrong = |what: String, why: &'static str, fix: &str| {
        findings.push(Finding { level: Level::Wrong, what, why, fix: fix.into() });
    };

    for (key, value) in [("name", &hello.name), ("version", &hello.version)] {
        if value.trim().is_empty() {
            wrong(
                format!("`{key}` is empty in `hello`"),
                "a baseline of known failures belongs to one client of one version",
                "ask the installed package for its name and version",
            );
        }
    }
    if hello.timeout_step_ms == 0 {
        wrong(
            "`timeout_step_ms` is 0 in `hello`".into(),
            "timeouts are rounded up to a multiple of it",
            "give the smallest step of the client's timeout in milliseconds, 1000 for whole seconds",
        );
    }
    let mut seen = BTreeSet::new();
    for capability in hello.capabilities.iter().filter(|one| !seen.insert(**one)) {
        wrong(
            format!("`{capability}` is listed twice in `hello`"),
            "a list that was put together carelessly claims too much or too little",
            "list each capability once",
        );
    }
    if hello.can(Capability::VirtualClock) {
        wrong(
            "`virtual-clock` is claimed".into(),
            "a process of its own has a clock of its own",
            "do not claim it",
        );
    }
    let known = Config::keys();
    for key in hello.cannot_honour.iter().filter(|key| !known.contains(key)) {
        wrong(
            format!("`cannot_honour` names `{key}`, which is no key of `config`"),
            "the cases that set the key that was meant would be run and fail",
            &format!("use one of: {}", known.join(", ")),
        );
    }
    for (claimed, needed) in NEEDS {
        if hello.can(*claimed) && !needed.iter().any(|one| hello.can(*one)) {
            let needed: Vec<_> = needed.iter().map(|one| format!("`{one}`")).collect();
            wrong(
                format!("`{claimed}` is claimed without {}", needed.join(" or ")),
                "no case can need the one without the other",
                "claim both or neither",
            );
        }
    }
    for (what, group) in GROUPS {
        if !group.iter().any(|capability| hello.can(*capability)) {
            let group: Vec<_> = group.iter().map(|one| format!("`{one}`")).collect();
            findings.push(Finding {
                level: Level::Look,
                what: format!("no {what} is claimed ({})", group.join(", ")),
                why: "every case needs one, so none will be run",
                fix: "claim what the client has".into(),
            });
        }
    }
    findings
}

/// What makes no sense without one of the others.
const NEEDS: &[(Capability, &[Capability])] = &[
    (Capability::PollPath, &[Capability::TransportLongPoll]),
    (Capability::SubscribeFirst, &[Capability::TransportSse]),
    (Capability::ConcurrentAgents, &[Capability::SeveralAgents]),
    (Capability::RequireRevision, &[Capability::ConflictDetection]),
    (Capability::TrustPins, &[Capability::TrustAllow, Capability::TrustEveryTool]),
];

/// What every client has one of.
const GROUPS: &[(&str, &[Capability])] = &[
    (
        "transport",
        &[Capability::TransportSse, Capability::TransportLongPoll, Capability::PollPublicDialect],
    ),
    ("place for the token", &[Capability::AuthQuery, Capability::AuthBearer]),
    ("way to trust a tool", &[Capability::TrustAllow, Capability::TrustEveryTool]),
];

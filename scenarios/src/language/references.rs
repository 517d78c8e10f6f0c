//! What a scenario refers to must exist: tools, screens, agents, steps, contract ids.

use super::expect::{ExpectPins, ExpectScreen, Outcome};
use super::node::{Node, PathStep, Span};
use super::scenario::{AS_OFFERED, Scenario, TrustSpec};
use super::shape::Problem;
use super::step::{ActWith, AgentAct, Step};
use super::suggest::did_you_mean;
use crate::requirements;
use relay_simulator::journal::Journal;
use relay_simulator::person::Edit;
use relay_simulator::surface::Surface;
use serde_json::Value;
use std::collections::BTreeSet;

/// Everything that a scenario refers to and that does not exist.
pub(super) fn problems(scenario: &Scenario, document: &Node) -> Vec<Problem> {
    let mut check = Check::new(scenario, document);
    check.surface();
    check.claims();
    check.agents();
    check.trust();
    check.parts();
    check.steps(&scenario.script, &mut vec![PathStep::Key("script".into())]);
    for (index, outcome) in scenario.then.iter().enumerate() {
        let path = vec![PathStep::Key("then".into()), PathStep::Index(index)];
        check.outcome(outcome, path);
    }
    check.problems
}

struct Check<'a> {
    scenario: &'a Scenario,
    document: &'a Node,
    tools: Vec<String>,
    /// None when the script creates screens whose ids the surface chooses.
    screens: Option<BTreeSet<String>>,
    agents: Vec<String>,
    steps: Vec<String>,
    problems: Vec<Problem>,
}

impl<'a> Check<'a> {
    fn new(scenario: &'a Scenario, document: &'a Node) -> Self {
        let mut steps = Vec::new();
        step_names(&scenario.script, &mut steps);
        Self {
            scenario,
            document,
            tools: Vec::new(),
            screens: screens(scenario),
            agents: scenario.agent_names().into_iter().map(str::to_owned).collect(),
            steps,
            problems: Vec::new(),
        }
    }

    /// The surface can be built, and then says itself what it offers.
    fn surface(&mut self) {
        match Surface::new(&self.scenario.surface, Journal::forgetful()) {
            Ok(surface) => {
                let definitions = surface.definitions();
                let names = definitions.iter().filter_map(|tool| tool["name"].as_str());
                self.tools = names.map(str::to_owned).collect();
            }
            Err(error) => {
                let span = self.span(&["surface"]);
                self.add(span, error.to_string(), None);
            }
        }
        for (index, rule) in self.scenario.relay.faults.iter().enumerate() {
            if let Err(error) = rule.check() {
                let span = self.span_at(&["relay", "faults"], index);
                self.add(span, error.to_string(), None);
            }
        }
    }

    /// `proves` names lines of the contract, and at least one.
    fn claims(&mut self) {
        if self.scenario.proves.is_empty() {
            let span = self.span(&["proves"]);
            self.add(
                span,
                "`proves` names no contract id, so the scenario would prove nothing".into(),
                None,
            );
        }
        for (index, id) in self.scenario.proves.iter().enumerate() {
            if requirements::find(id).is_none() {
                let ids = requirements::all().iter().map(|requirement| requirement.id.as_str());
                let help = did_you_mean(id, ids);
                let span = self.span_at(&["proves"], index);
                self.add(span, format!("the contract has no line `{id}`"), help);
            }
        }
        if self.scenario.script.is_empty() {
            let span = self.span(&["script"]);
            self.add(span, "the script has no step, so nothing would happen".into(), None);
        }
        let is_judged = !self.scenario.then.is_empty()
            || self.scenario.script.iter().any(|step| {
                step.agent.is_some()
                    || step.together.iter().flatten().any(|step| step.agent.is_some())
            });
        if !is_judged && !self.scenario.script.is_empty() {
            let span = self.span(&["script"]);
            let message = "no agent acts and nothing is expected, so nothing would be judged";
            self.add(span, message.into(), None);
        }
    }

    fn agents(&mut self) {
        for (name, agent) in &self.scenario.agents {
            let Some(host) = &agent.works_on else { continue };
            let span = self.span(&["agents", name, "works_on"]);
            if host == name {
                self.add(span, format!("`{name}` cannot work on its own attachment"), None);
            } else if !self.agents.contains(host) {
                let help = did_you_mean(host, self.agents.iter().map(String::as_str));
                self.add(span, format!("there is no agent `{host}`"), help);
            } else if self.scenario.agents.get(host).is_some_and(|host| host.works_on.is_some()) {
                let message = format!("`{host}` itself works on somebody else's attachment");
                self.add(span, message, None);
            }
        }
    }

    /// A tool on an allowlist need not be offered: not offering it may be the point. One that is
    /// nearly the name of an offered one is a slip.
    fn trust(&mut self) {
        let specs = std::iter::once((vec!["client"], &self.scenario.client)).chain(
            self.scenario.agents.iter().filter_map(|(name, agent)| {
                agent
                    .client
                    .as_ref()
                    .map(|client| (vec!["agents", name.as_str(), "client"], client))
            }),
        );
        let mut found = Vec::new();
        for (mut path, client) in specs {
            let Some(TrustSpec::Allow(list)) = &client.trust else { continue };
            path.push("trust");
            for (tool, pin) in &list.pins {
                let mut path = path.clone();
                path.extend(["pins", tool]);
                if pin == AS_OFFERED && !self.tools.contains(tool) {
                    found.push((self.span(&path), tool.clone()));
                }
            }
        }
        for (span, tool) in found {
            self.unknown_tool(span, &tool);
        }
    }

    /// Faults and edits that people make by themselves speak of agents and screens too.
    fn parts(&mut self) {
        for index in 0..self.scenario.people.len() {
            let edit = &self.scenario.people[index].edit;
            let path = [PathStep::Key("people".into()), PathStep::Index(index)];
            self.edit(edit, &path);
        }
    }

    fn steps(&mut self, steps: &[Step], path: &mut Vec<PathStep>) {
        let mut seen: Vec<&str> = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            path.push(PathStep::Index(index));
            if let Some(name) = &step.name {
                if seen.contains(&name.as_str())
                    || self.steps.iter().filter(|other| *other == name).count() > 1
                {
                    let span = self.under(path, &["name"]);
                    self.add(span, format!("another step is called `{name}` too"), None);
                }
                seen.push(name);
            }
            self.step(step, path);
            path.pop();
        }
    }

    fn step(&mut self, step: &Step, path: &mut Vec<PathStep>) {
        let doings = [
            step.agent.is_some(),
            step.person.is_some(),
            step.relay.is_some(),
            step.wait.is_some(),
            step.faults.is_some(),
            step.together.is_some(),
        ];
        match doings.iter().filter(|does| **does).count() {
            1 => {}
            0 => {
                let span = self.document.nearest(path).span;
                let help = "one of `agent`, `person`, `relay`, `wait`, `faults`, `together`";
                self.add(span, "the step does nothing".into(), Some(help.into()));
            }
            _ => {
                let span = self.document.nearest(path).span;
                let help = "write them as steps of their own, or inside `together`";
                self.add(span, "the step does several things".into(), Some(help.into()));
            }
        }
        let is_within =
            path.iter().any(|part| matches!(part, PathStep::Key(key) if key == "together"));
        if step.after.is_some() && !is_within {
            let span = self.under(path, &["after"]);
            let help = "between steps that follow each other, time passes with a step `wait`";
            self.add(span, "`after` belongs to a step of `together`".into(), Some(help.into()));
        }
        if step.expect.is_some() && step.agent.is_none() {
            let span = self.under(path, &["expect"]);
            let message = "`expect` speaks of an agent's act, and this step is none";
            self.add(span, message.into(), Some("what the world must be stands in `then`".into()));
        }
        if let Some(expect) = &step.expect {
            self.step_at(expect.differs_from.as_deref(), path, &["expect", "differs_from"]);
            if expect.error.is_some() && expect.may_fail.is_some() {
                let span = self.under(path, &["expect", "may_fail"]);
                let message = "`error` says that the act fails, and `may_fail` that it need not";
                self.add(span, message.into(), None);
            }
        }
        if let Some(AgentAct::With(with)) = &step.agent {
            self.act(with, path);
        } else if step.agent.is_some() && self.agents.len() > 1 {
            let span = self.under(path, &["agent"]);
            self.which_agent(span);
        }
        if let Some(person) = &step.person {
            let mut path = path.clone();
            path.push(PathStep::Key("person".into()));
            self.edit(&person.edit, &path);
        }
        if let Some(together) = &step.together {
            path.push(PathStep::Key("together".into()));
            self.steps(together, path);
            path.pop();
        }
    }

    fn act(&mut self, act: &ActWith, path: &[PathStep]) {
        let span = self.under(path, &["agent"]);
        let acts = [act.call.is_some(), act.announce.is_some(), act.does.is_some()];
        if acts.iter().filter(|does| **does).count() != 1 {
            let message = "an agent's act is one of `call`, `announce` and `does`";
            self.add(span, message.into(), None);
        }
        match &act.by {
            None if self.agents.len() > 1 => self.which_agent(span),
            Some(name) if !self.agents.contains(name) => {
                let span = self.under(path, &["agent", "by"]);
                let help = if self.scenario.agents.is_empty() {
                    Some("the only agent is `agent`; several are declared under `agents`".into())
                } else {
                    did_you_mean(name, self.agents.iter().map(String::as_str))
                };
                self.add(span, format!("there is no agent `{name}`"), help);
            }
            _ => {}
        }
        if act.with.is_some() && act.call.is_none() {
            let span = self.under(path, &["agent", "with"]);
            self.add(span, "`with` belongs to a `call`".into(), None);
        }
        let Some(tool) = &act.call else { return };
        let is_offered = self.tools.contains(tool);
        match act.offered {
            Some(false) if is_offered => {
                let span = self.under(path, &["agent", "offered"]);
                self.add(span, format!("the surface does offer `{tool}`"), None);
            }
            Some(false) => {}
            _ if !is_offered => {
                let span = self.under(path, &["agent", "call"]);
                self.unknown_tool(span, tool);
            }
            _ => {}
        }
    }

    fn unknown_tool(&mut self, span: Span, tool: &str) {
        let help = did_you_mean(tool, self.tools.iter().map(String::as_str)).unwrap_or_else(|| {
            format!("it offers {}; if that is the point, say `offered: false`", list(&self.tools))
        });
        self.add(span, format!("the surface offers no tool `{tool}`"), Some(help));
    }

    fn which_agent(&mut self, span: Span) {
        let help = format!("say `by:` with one of {}", list(&self.agents));
        self.add(span, "which agent? there are several".into(), Some(help));
    }

    fn edit(&mut self, edit: &Edit, path: &[PathStep]) {
        if let Some(handle) = edited(edit) {
            let span = self.under(path, &[edit.verb()]);
            self.screen(handle, span);
        }
    }

    fn screen(&mut self, handle: &str, span: Span) {
        let Some(screens) = &self.screens else { return };
        if !screens.contains(handle) {
            let help =
                did_you_mean(handle, screens.iter().map(String::as_str)).unwrap_or_else(|| {
                    format!("it has {}", list(&screens.iter().cloned().collect::<Vec<_>>()))
                });
            self.add(span, format!("the surface has no screen `{handle}`"), Some(help));
        }
    }

    fn outcome(&mut self, outcome: &Outcome, path: Vec<PathStep>) {
        match outcome {
            Outcome::Surface(expected) => {
                for (handle, expected) in expected {
                    // A screen that must be absent need never have been there.
                    if matches!(expected, ExpectScreen::Fields(_)) {
                        let span = self.under(&path, &["surface", handle]);
                        self.screen(handle, span);
                    }
                }
            }
            Outcome::Pins(ExpectPins::Some(filter)) => {
                self.tool_at(filter.tool.as_deref(), &path, &["pins", "tool"]);
                self.agent_at(filter.agent.as_deref(), &path, &["pins", "agent"]);
            }
            Outcome::Requests(filter) => {
                self.agent_at(filter.agent.as_deref(), &path, &["requests", "agent"]);
                self.step_at(filter.during.as_deref(), &path, &["requests", "during"]);
                self.step_at(filter.after.as_deref(), &path, &["requests", "after"]);
            }
            Outcome::Frames(filter) => {
                self.agent_at(filter.agent.as_deref(), &path, &["frames", "agent"]);
                self.step_at(filter.during.as_deref(), &path, &["frames", "during"]);
                self.step_at(filter.after.as_deref(), &path, &["frames", "after"]);
            }
            Outcome::Attachment(expected) => {
                self.agent_at(expected.agent.as_deref(), &path, &["attachment", "agent"]);
                if expected.agent.is_none() && self.agents.len() > 1 {
                    let span = self.under(&path, &["attachment"]);
                    let help = format!("say `agent:` with one of {}", list(&self.agents));
                    self.add(span, "whose attachment? there are several".into(), Some(help));
                }
            }
            Outcome::Pacing(pacing) => {
                self.step_at(pacing.during.as_deref(), &path, &["pacing", "during"]);
                if pacing.gap_at_least.is_none() && pacing.gap_at_most.is_none() {
                    let span = self.under(&path, &["pacing"]);
                    let message = "a pacing needs `gap_at_least` or `gap_at_most`";
                    self.add(span, message.into(), None);
                }
            }
            Outcome::Struck(struck) => {
                let rules = self.scenario.relay.faults.len() as u64;
                let is_set_later = self.scenario.script.iter().any(|step| step.faults.is_some());
                if let Some(rule) = struck.rule
                    && !is_set_later
                    && !(1..=rules).contains(&rule)
                {
                    let span = self.under(&path, &["struck", "rule"]);
                    self.add(
                        span,
                        format!("there is no fault {rule}: `relay.faults` has {rules}"),
                        None,
                    );
                }
            }
            Outcome::Pins(ExpectPins::All(_))
            | Outcome::Anomalies(_)
            | Outcome::Order(_)
            | Outcome::Never(_)
            | Outcome::Took(_) => {}
        }
    }

    fn tool_at(&mut self, tool: Option<&str>, path: &[PathStep], keys: &[&str]) {
        if let Some(tool) = tool
            && !self.tools.iter().any(|known| known == tool)
        {
            let span = self.under(path, keys);
            self.unknown_tool(span, tool);
        }
    }

    fn agent_at(&mut self, agent: Option<&str>, path: &[PathStep], keys: &[&str]) {
        if let Some(agent) = agent
            && !self.agents.iter().any(|known| known == agent)
        {
            let span = self.under(path, keys);
            let help = did_you_mean(agent, self.agents.iter().map(String::as_str));
            self.add(span, format!("there is no agent `{agent}`"), help);
        }
    }

    fn step_at(&mut self, step: Option<&str>, path: &[PathStep], keys: &[&str]) {
        if let Some(step) = step
            && !self.steps.iter().any(|known| known == step)
        {
            let span = self.under(path, keys);
            let help = did_you_mean(step, self.steps.iter().map(String::as_str))
                .or_else(|| self.steps.is_empty().then(|| "no step has a `name:`".to_owned()));
            self.add(span, format!("no step is called `{step}`"), help);
        }
    }

    fn span(&self, keys: &[&str]) -> Span {
        self.under(&[], keys)
    }

    fn span_at(&self, keys: &[&str], index: usize) -> Span {
        let mut path: Vec<PathStep> = keys.iter().map(|key| PathStep::Key((*key).into())).collect();
        path.push(PathStep::Index(index));
        self.document.nearest(&path).span
    }

    fn under(&self, path: &[PathStep], keys: &[&str]) -> Span {
        let mut path = path.to_vec();
        path.extend(keys.iter().map(|key| PathStep::Key((*key).into())));
        self.document.place(&path)
    }

    fn add(&mut self, span: Span, message: String, help: Option<String>) {
        self.problems.push(Problem { span, message, help });
    }
}

fn list(words: &[String]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}

fn step_names(steps: &[Step], into: &mut Vec<String>) {
    for step in steps {
        into.extend(step.name.clone());
        step_names(step.together.as_deref().unwrap_or_default(), into);
    }
}

/// The screens that there can be: those of the start, and those that somebody creates by name.
/// None when somebody creates one without naming it.
fn screens(scenario: &Scenario) -> Option<BTreeSet<String>> {
    let mut screens: BTreeSet<String> = scenario.surface.screens.keys().cloned().collect();
    let mut is_known = true;
    let mut created = |id: Option<&str>| match id {
        Some(id) => {
            screens.insert(id.to_owned());
        }
        None => is_known = false,
    };
    scenario.people.iter().for_each(|trigger| edit_creates(&trigger.edit, &mut created));
    steps_create(&scenario.script, &mut created);
    is_known.then_some(screens)
}

fn steps_create(steps: &[Step], created: &mut dyn FnMut(Option<&str>)) {
    for step in steps {
        if let Some(person) = &step.person {
            edit_creates(&person.edit, created);
        }
        if let Some(AgentAct::With(with)) = &step.agent
            && with.call.as_deref() == Some("screen_create")
        {
            created(with.with.as_ref().and_then(|with| with.get("id")).and_then(Value::as_str));
        }
        steps_create(step.together.as_deref().unwrap_or_default(), created);
    }
}

/// The screen that an edit needs to find.
fn edited(edit: &Edit) -> Option<&str> {
    match edit {
        Edit::Move { id, .. }
        | Edit::Rename { id, .. }
        | Edit::Update { id, .. }
        | Edit::Delete { id } => Some(id),
        Edit::Create { .. } | Edit::Undo | Edit::Confirm { .. } | Edit::Reject { .. } => None,
    }
}

fn edit_creates(edit: &Edit, created: &mut dyn FnMut(Option<&str>)) {
    if let Edit::Create { id, .. } = edit {
        created(id.as_deref());
    }
}

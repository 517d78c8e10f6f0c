//! `relay-testbed list`.

use super::{Exit, refuse, refuse_selection};
use crate::cli::ListArgs;
use crate::plan::PlannedCase;
use crate::select::select;
use anstream::println;
use serde_json::{Value, json};

pub(super) fn list(args: &ListArgs) -> Exit {
    let cases = match select(&args.select.selection()) {
        Ok(cases) => cases,
        Err(error) => return refuse_selection(&error),
    };
    if args.json {
        let rows: Vec<Value> = cases.iter().map(row).collect();
        println!("{:#}", Value::Array(rows));
    } else {
        for case in &cases {
            println!("{}", case.id);
        }
    }
    if cases.is_empty() {
        return refuse(Exit::Nothing, "no case matches the selection");
    }
    Exit::Passed
}

fn row(case: &PlannedCase) -> Value {
    json!({
        "id": case.id,
        "file": case.file,
        "line": case.line,
        "name": case.scenario.name,
        "parameters": case.parameters,
        "proves": case.scenario.proves,
        "tags": case.scenario.tags,
        "needs": case.scenario.needs,
    })
}

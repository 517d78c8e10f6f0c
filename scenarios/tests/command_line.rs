//! The program, as a shell sees it: what it prints last, and its exit code.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

struct Ran {
    code: i32,
    stdout: String,
    stderr: String,
}

fn testbed(arguments: &[&str]) -> Ran {
    let Output { status, stdout, stderr } = Command::new(env!("CARGO_BIN_EXE_relay-testbed"))
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .expect("the program starts");
    Ran {
        code: status.code().expect("it was not killed"),
        stdout: String::from_utf8(stdout).expect("text"),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

fn last_line(ran: &Ran) -> &str {
    ran.stdout.lines().last().unwrap_or_default()
}

/// A scenario file of its own, in a folder that goes with it.
fn scenario(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("scenario.yaml");
    std::fs::write(&file, text).expect("a file");
    (folder, file)
}

fn path(path: &Path) -> &str {
    path.to_str().expect("a plain path")
}

const OVERWRITES: &str = "\
name: the person's edit survives
proves: [SURF-3]
surface:
  screens: { screen_7: { title: Budget, x: 0 } }
  revisions: { enforce: never }
script:
  - agent: { call: screen_read, with: { id: screen_7 } }
  - person: { move: screen_7, to: { x: 40 } }
  - agent: { call: screen_move, with: { id: screen_7, x: 10 } }
then:
  - surface: { screen_7: { x: 40 } }
";

#[test]
fn a_suite_that_passes_ends_with_0_and_says_so_on_its_last_line() {
    let ran = testbed(&["run", "results", "--transport", "sse"]);
    assert_eq!(ran.code, 0, "{}", ran.stdout);
    assert!(last_line(&ran).ends_with(" passed, 0 failed"), "{}", last_line(&ran));
}

#[test]
fn a_failure_ends_with_1_and_names_what_was_lost() {
    let (_folder, file) = scenario(OVERWRITES);
    let ran = testbed(&["run", path(&file)]);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    assert_eq!(last_line(&ran), "0 passed, 1 failed");
    assert!(ran.stdout.contains("lost update"), "{}", ran.stdout);
    assert!(ran.stdout.contains("- surface: { screen_7: { x: 40 } }"), "{}", ran.stdout);
}

#[test]
fn a_wrong_scenario_or_command_ends_with_2_and_points_at_it() {
    let ran = testbed(&["run", "tests/mistakes/typos.yaml"]);
    assert_eq!(ran.code, 2);
    assert!(ran.stderr.contains("typos.yaml:13:5"), "{}", ran.stderr);
    assert!(ran.stderr.contains("did you mean `agent`?"), "{}", ran.stderr);
    for wrong in [
        &["run", "revison"][..],
        &["run", "--shard", "3/2"],
        &["run", "--wire", "string"],
        &["run", "--report", "papyrus=x"],
        &["run", "--client", "true", "--clock", "virtual"],
        &["run", "--client", "true", "--wire", "unix"],
        &["run", "--baseline", "no-such-file.yaml"],
        &["sing"],
    ] {
        assert_eq!(testbed(wrong).code, 2, "{wrong:?}");
    }
}

#[test]
fn an_empty_selection_ends_with_3() {
    for nothing in [&["run", "--filter", "no such case"][..], &["list", "--tag", "no such tag"]] {
        let ran = testbed(nothing);
        assert_eq!(ran.code, 3, "{nothing:?}");
        assert!(ran.stderr.contains("no case matches"), "{}", ran.stderr);
    }
}

#[test]
fn a_scenario_in_which_nothing_reaches_the_relay_is_red() {
    let (_folder, file) = scenario("name: idle\nproves: [LIFE-1]\nscript:\n  - agent: attach\n");
    let ran = testbed(&["run", path(&file)]);
    assert_eq!(ran.code, 1, "{}", ran.stdout);
    assert!(ran.stdout.contains("nothing was proved"), "{}", ran.stdout);
}

#[test]
fn a_client_that_is_none_ends_with_4_and_is_never_green() {
    let ran = testbed(&["run", "results", "--client", "/bin/true"]);
    assert_eq!(ran.code, 4, "{}", ran.stdout);
    assert!(ran.stderr.contains("without answering `hello`"), "{}", ran.stderr);
}

#[test]
fn shards_and_transports_share_the_suite_out_among_them() {
    let list = |arguments: &[&str]| -> Vec<String> {
        let ran = testbed(&[&["list"], arguments].concat());
        ran.stdout.lines().map(str::to_owned).collect()
    };
    let all = list(&["revision"]);
    let mut shared: Vec<String> =
        ["1/3", "2/3", "3/3"].iter().flat_map(|k| list(&["revision", "--shard", k])).collect();
    shared.sort();
    let mut sorted = all.clone();
    sorted.sort();
    assert_eq!(shared, sorted);
    let over = |transport| list(&["revision", "--transport", transport]).len();
    assert_eq!(over("sse") + over("long-poll"), all.len());
}

#[test]
fn one_seed_gives_one_record_whatever_runs_beside_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let record = |name: &str, more: &[&str]| -> Vec<(String, String)> {
        let into = folder.path().join(name);
        let arguments = [&["run", "powers", "--record", path(&into)], more].concat();
        assert_eq!(testbed(&arguments).code, 0);
        let mut files: Vec<_> = std::fs::read_dir(&into)
            .expect("records")
            .map(|file| file.expect("a record").path())
            .map(|file| {
                let name = file.file_name().expect("a name").to_string_lossy().into_owned();
                (name, std::fs::read_to_string(&file).expect("text"))
            })
            .collect();
        files.sort();
        files
    };
    let one = record("one", &["--seed", "5", "--jobs", "1"]);
    let two = record("two", &["--seed", "5", "--jobs", "4"]);
    assert!(one.len() > 10, "{}", one.len());
    assert_eq!(one, two);
    let other = record("other", &["--seed", "6"]);
    assert_ne!(one, other, "another seed draws other ids");
}

#[test]
fn a_baseline_makes_a_failure_known_and_rots_when_it_is_not_kept() {
    let (folder, file) = scenario(OVERWRITES);
    let baseline = folder.path().join("known.yaml");
    let update = testbed(&["baseline", "update", path(&baseline), path(&file)]);
    assert_eq!(update.code, 0, "{}", update.stderr);
    let with = |baseline: &Path| testbed(&["run", path(&file), "--baseline", path(baseline)]);
    let known = with(&baseline);
    assert_eq!(known.code, 0, "{}", known.stdout);
    assert_eq!(last_line(&known), "1 passed, 0 failed");

    let text = std::fs::read_to_string(&baseline).expect("a baseline");
    let stale = folder.path().join("stale.yaml");
    let dash = text.lines().find(|line| line.trim_start().starts_with("- ")).expect("an entry");
    let indent = &dash[..dash.len() - dash.trim_start().len()];
    let entry = format!("{indent}- {{ case: nobody, fails: [script], reason: gone }}\n");
    std::fs::write(&stale, format!("{text}{entry}")).expect("a file");
    assert_eq!(with(&stale).code, 1, "an entry that matches nothing fails the run");

    let otherwise = folder.path().join("otherwise.yaml");
    std::fs::write(&otherwise, text.replace("then[0]", "then[9]")).expect("a file");
    assert_eq!(with(&otherwise).code, 1, "a failure of another kind fails the run");

    std::fs::write(&file, OVERWRITES.replace("{ enforce: never }", "{}")).expect("a file");
    assert_eq!(with(&baseline).code, 1, "a failure that is gone fails the run");
}

#[test]
fn the_token_is_in_no_report_and_no_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let token = relay_scenarios::run::token(1);
    let (_scenario, file) = scenario(OVERWRITES);
    let report = |kind: &str| format!("{kind}={}", path(&folder.path().join(kind)));
    let records = folder.path().join("records");
    let mut arguments =
        vec!["run", path(&file), "--verbose", "--timeline", "--record", path(&records)];
    let reports: Vec<String> =
        ["junit", "json", "tap", "github", "markdown", "har", "html"].map(report).to_vec();
    for report in &reports {
        arguments.extend(["--report", report]);
    }
    let ran = testbed(&arguments);
    assert_eq!(ran.code, 1, "{}", ran.stderr);
    let mut sinks = vec![("stdout".to_owned(), ran.stdout), ("stderr".to_owned(), ran.stderr)];
    for folder in [folder.path(), &records] {
        for file in std::fs::read_dir(folder).expect("a folder").flatten() {
            if file.path().is_file() {
                let text = std::fs::read_to_string(file.path()).expect("text");
                sinks.push((file.path().display().to_string(), text));
            }
        }
    }
    assert!(sinks.len() >= 10, "{}", sinks.len());
    for (name, text) in sinks {
        assert!(text.len() > 20 || name == "stderr", "{name} is empty");
        assert!(!text.contains(&token), "the token is in {name}");
    }
}

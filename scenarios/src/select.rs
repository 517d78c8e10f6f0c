//! Which cases are run: paths and names, filters, tags, transports, shards.

use crate::language::diagnostic::{Diagnostics, Source};
use crate::language::parse_file;
use crate::plan::{PlannedCase, plan};
use crate::subject::protocol::Transport;
use crate::suites;
use std::path::{Path, PathBuf};

/// What the user asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// Files, folders, or names of embedded suites. None: every embedded one.
    pub targets: Vec<String>,
    /// Only cases whose id holds each of these.
    pub filters: Vec<String>,
    /// Only scenarios with one of these tags.
    pub tags: Vec<String>,
    /// Only cases over this transport.
    pub transport: Option<Transport>,
    /// Only every `of`th case, from the `index`th, counted from 1.
    pub shard: Option<Shard>,
}

/// One of several parts of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Shard {
    /// Which part, from 1.
    pub index: usize,
    /// Of how many.
    pub of: usize,
}

impl std::str::FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split_once('/').and_then(|(index, of)| {
            Some(Self { index: index.trim().parse().ok()?, of: of.trim().parse().ok()? })
        });
        match parts {
            Some(shard) if shard.index >= 1 && shard.index <= shard.of => Ok(shard),
            _ => Err(format!("`{text}` is no shard (write `2/5` for the second of five)")),
        }
    }
}

/// Why there is nothing to run.
#[derive(Debug, thiserror::Error)]
pub enum SelectError {
    /// A target is neither a path nor a name.
    #[error("`{target}` is neither a file, a folder, nor the name of an embedded suite{hint}")]
    Unknown {
        /// What the user wrote.
        target: String,
        /// What may have been meant.
        hint: String,
    },
    /// A file cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// A folder holds no scenario.
    #[error("the folder `{0}` holds no `.yaml` file")]
    Empty(PathBuf),
    /// Scenarios are wrong.
    #[error("{} in the scenarios", mistakes(.0))]
    Wrong(Diagnostics),
}

fn mistakes(diagnostics: &Diagnostics) -> String {
    match diagnostics.len() {
        1 => "1 mistake".to_owned(),
        many => format!("{many} mistakes"),
    }
}

/// The sources behind the targets, in order, without repeats.
pub fn sources(targets: &[String]) -> Result<Vec<Source>, SelectError> {
    if targets.is_empty() {
        return Ok(suites::embedded());
    }
    let mut found: Vec<Source> = Vec::new();
    for target in targets {
        for source in resolve(target)? {
            if !found.iter().any(|known| known.path == source.path) {
                found.push(source);
            }
        }
    }
    Ok(found)
}

fn resolve(target: &str) -> Result<Vec<Source>, SelectError> {
    let path = Path::new(target);
    if path.is_dir() {
        let mut files = Vec::new();
        walk(path, &mut files)?;
        files.sort();
        if files.is_empty() {
            return Err(SelectError::Empty(path.to_owned()));
        }
        return files.iter().map(|file| read(file)).collect();
    }
    if path.is_file() {
        return Ok(vec![read(path)?]);
    }
    let embedded = suites::embedded();
    let short = |source: &Source| {
        source.name().trim_start_matches("suites/").trim_end_matches(".yaml").to_owned()
    };
    let wanted =
        target.trim_start_matches("suites/").trim_end_matches(".yaml").trim_end_matches('/');
    let matching: Vec<Source> = embedded
        .iter()
        .filter(|source| {
            let name = short(source);
            name == wanted || name.starts_with(&format!("{wanted}/"))
        })
        .cloned()
        .collect();
    if !matching.is_empty() {
        return Ok(matching);
    }
    let names: Vec<String> = embedded.iter().map(short).collect();
    let nearest = names
        .iter()
        .map(|name| (strsim::jaro_winkler(wanted, name), name))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let hint = match nearest {
        Some((score, name)) if score > 0.8 => format!(" (did you mean `{name}`?)"),
        _ => format!(" (embedded: {})", names.join(", ")),
    };
    Err(SelectError::Unknown { target: target.to_owned(), hint })
}

fn walk(folder: &Path, into: &mut Vec<PathBuf>) -> Result<(), SelectError> {
    let unreadable = |error| SelectError::Unreadable { path: folder.to_owned(), error };
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.is_dir() {
            walk(&path, into)?;
        } else if path.extension().is_some_and(|end| end == "yaml" || end == "yml")
            && path.file_name().is_some_and(|name| name != "requirements.yaml")
        {
            into.push(path);
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Source, SelectError> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| SelectError::Unreadable { path: path.to_owned(), error })?;
    Ok(Source::new(path, text))
}

/// Plans every case of these sources. Every mistake of every file is told.
pub fn plan_all(sources: &[Source]) -> Result<Vec<PlannedCase>, Diagnostics> {
    let mut diagnostics = Diagnostics::default();
    let mut cases = Vec::new();
    for source in sources {
        match parse_file(source) {
            Ok(parsed) => {
                cases.extend(parsed.into_iter().map(|case| plan(case, &source.name())));
            }
            Err(mistakes) => diagnostics.extend(mistakes),
        }
    }
    if diagnostics.is_empty() { Ok(cases) } else { Err(diagnostics) }
}

/// The cases that the user asked for.
pub fn select(selection: &Selection) -> Result<Vec<PlannedCase>, SelectError> {
    let cases = plan_all(&sources(&selection.targets)?).map_err(SelectError::Wrong)?;
    let wanted = cases.into_iter().filter(|case| {
        selection.filters.iter().all(|filter| case.id.contains(filter.as_str()))
            && (selection.tags.is_empty()
                || selection.tags.iter().any(|tag| case.scenario.tags.contains(tag)))
            && selection.transport.is_none_or(|transport| case.transport() == transport)
    });
    Ok(match selection.shard {
        None => wanted.collect(),
        Some(Shard { index, of }) => wanted.skip(index - 1).step_by(of).collect(),
    })
}

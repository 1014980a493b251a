//! Surveys of the local model: tasks from the configuration, and their reports.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reticent::local::{Admission, Task};
use reticent_collector::{Collector, task_file};

use crate::config::{Config, SurveyTask};
use crate::error::{Error, Result};

/// The file of reports, within the data directory.
const REPORTS: &str = "reports.sqlite";

/// A task whose reports are collected here.
#[derive(Debug)]
pub struct Survey {
    /// Its name in URLs.
    pub name: String,
    /// The task, and the check of its reports.
    pub admission: Admission,
    /// Whether anyone may answer, without a token.
    pub open: bool,
}

/// All surveys.
#[derive(Debug)]
pub struct Surveys {
    surveys: BTreeMap<String, Arc<Survey>>,
    /// `None` without surveys.
    collector: Option<Arc<Collector>>,
}

impl Surveys {
    /// Opens the surveys in the configuration.
    ///
    /// # Errors
    /// If a task or a name is invalid, a name was used for another task before, or a file cannot be read.
    pub fn open(config: &Config, directory: &Path) -> Result<Self> {
        let mut all = Self { surveys: BTreeMap::new(), collector: None };
        if config.surveys.is_empty() {
            return Ok(all);
        }
        let collector = Arc::new(Collector::open(&directory.join(REPORTS))?);
        for survey in &config.surveys {
            let name = survey.name.clone();
            check_name(&name)?;
            let admission = Admission::new(read(config, &name, &survey.task)?);
            collector.bind(&name, &admission)?;
            let entry = Arc::new(Survey { name: name.clone(), admission, open: survey.open });
            if all.surveys.insert(name.clone(), entry).is_some() {
                return Err(Error::field(
                    "survey",
                    format!("there are two surveys {name}; choose another name for one"),
                ));
            }
        }
        all.collector = Some(collector);
        Ok(all)
    }

    /// A survey by its name.
    pub fn get(&self, name: &str) -> Option<&Arc<Survey>> {
        self.surveys.get(name)
    }

    /// Whether anyone may answer it, without a token.
    pub fn is_open(&self, name: &str) -> bool {
        self.get(name).is_some_and(|survey| survey.open)
    }

    /// All surveys, by name.
    pub fn list(&self) -> impl Iterator<Item = &Arc<Survey>> {
        self.surveys.values()
    }

    /// The collector of reports; `None` without surveys.
    pub fn collector(&self) -> Option<&Arc<Collector>> {
        self.collector.as_ref()
    }
}

fn check_name(name: &str) -> Result<()> {
    let letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if (1..=64).contains(&name.len()) && name.chars().all(letter) {
        return Ok(());
    }
    Err(Error::field("survey", format!("the survey name {name:?} is invalid; use 1 to 64 of a-z, 0-9, - and _")))
}

fn read(config: &Config, name: &str, task: &SurveyTask) -> Result<Task> {
    let path = match task {
        SurveyTask::Inline(task) => return Ok((**task).clone()),
        SurveyTask::File(path) => config.path(&path.to_string_lossy()),
    };
    task_file::read(Path::new(&path)).map_err(|error| Error::field("survey", format!("survey {name}: {error}")))
}

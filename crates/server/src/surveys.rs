//! Surveys of the local model: tasks that stand in the configuration, and their reports.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use reticent::local::{Admission, Task};
use reticent_collector::{Collector, task_file};

use crate::config::{Config, SurveyTask};
use crate::error::{Error, Result};

/// The file of reports, within the data directory.
const REPORTS: &str = "reports.sqlite";

/// A task that is collected here.
#[derive(Debug)]
pub struct Survey {
    /// As addresses call it.
    pub name: String,
    /// The task, and which reports are its own.
    pub admission: Admission,
    /// May anybody answer, without a token?
    pub open: bool,
}

/// All surveys.
#[derive(Debug)]
pub struct Surveys {
    surveys: BTreeMap<String, Arc<Survey>>,
    /// None where there are no surveys.
    collector: Option<Arc<Collector>>,
}

impl Surveys {
    /// Opens what the configuration names.
    ///
    /// # Errors
    /// If a task or a name cannot be used, a name stands for another task than before, or a file cannot be read.
    pub fn open(config: &Config, directory: &Path) -> Result<Self> {
        let mut all = Self { surveys: BTreeMap::new(), collector: None };
        if config.surveys.is_empty() {
            return Ok(all);
        }
        let collector = Arc::new(Collector::open(&directory.join(REPORTS))?);
        for survey in &config.surveys {
            let name = survey.name.clone();
            check_name(&name)?;
            let admission = Admission::new(read(config, &name, &survey.task)?)?;
            collector.bind(&name, &admission)?;
            let entry = Arc::new(Survey { name: name.clone(), admission, open: survey.open });
            if all.surveys.insert(name.clone(), entry).is_some() {
                return Err(Error::field(
                    "survey",
                    format!("the survey {name} stands there twice; choose another name"),
                ));
            }
        }
        all.collector = Some(collector);
        Ok(all)
    }

    /// The survey of a name.
    pub fn get(&self, name: &str) -> Option<&Arc<Survey>> {
        self.surveys.get(name)
    }

    /// May anybody answer it, without a token?
    pub fn is_open(&self, name: &str) -> bool {
        self.get(name).is_some_and(|survey| survey.open)
    }

    /// All of them, by name.
    pub fn list(&self) -> impl Iterator<Item = &Arc<Survey>> {
        self.surveys.values()
    }

    /// Where the reports are.
    pub fn collector(&self) -> Option<&Arc<Collector>> {
        self.collector.as_ref()
    }
}

fn check_name(name: &str) -> Result<()> {
    let letter = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-_".contains(letter);
    if (1..=64).contains(&name.len()) && name.chars().all(letter) {
        return Ok(());
    }
    Err(Error::field("survey", format!("the name {name:?} of a survey must be 1 to 64 of a-z, 0-9, - and _")))
}

fn read(config: &Config, name: &str, task: &SurveyTask) -> Result<Task> {
    let path = match task {
        SurveyTask::Inline(task) => return Ok((**task).clone()),
        SurveyTask::File(path) => config.path(&path.to_string_lossy()),
    };
    task_file::read(Path::new(&path)).map_err(|error| Error::field("survey", format!("survey {name}: {error}")))
}

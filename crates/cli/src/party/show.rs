//! Answers and tasks, for people and programs.

use std::path::Path;

use anyhow::Result;
use reticent_party::CheckedTask;
use reticent_party::words::OWN_ROWS;
use reticent_plot::terminal::short;
use reticent_sql::Answer;
use serde_json::json;

use crate::output::{Format, number_table, print, say, text_table};

/// Prints the joint release.
pub fn answer(
    checked: &CheckedTask,
    answer: &Answer,
    attempt: u32,
    transcript: Option<&Path>,
    format: Format,
) -> Result<()> {
    crate::query::show::answer(answer, format)?;
    let file = transcript.map(|path| path.display().to_string());
    match format {
        Format::Json => print(&format!("{}\n", json!({ "parties": checked.to_json(attempt, file.as_deref()) })))?,
        Format::Csv => {}
        Format::Table => {
            say!("{OWN_ROWS}");
            if let Some(more) = checked.against_more() {
                say!("if more parties collude, ε is {more}");
            }
            if let Some(file) = file {
                say!("attempt {attempt}, transcript {file}, task {}", checked.task().hash());
            }
        }
    }
    Ok(())
}

/// Prints a task and its consequences.
pub fn terms(checked: &CheckedTask, format: Format) -> Result<()> {
    let (task, plan, shape) = (checked.task(), checked.plan(), checked.query().shape());
    let losses = plan.losses();
    if format == Format::Json {
        let object = json!({
            "hash": task.hash(),
            "terms": checked.to_json(0, None),
            "shape": shape,
            "cells": task.cells(),
            "sensitivity": task.sensitivity(),
            "bound": task.bound(),
            "standard_deviation_in_steps": plan.standard_deviation(),
            "half_width_in_steps": plan.error_bar().half_width(),
        });
        return Ok(print(&format!("{object}\n"))?);
    }
    let error = |part: &reticent_sql::joint::Part| {
        let half_width = plan.error_bar().half_width() * part.step.to_f64();
        let text = format!("± {} in each group (95 %, noise only)", short(half_width).trim_end_matches(".00"));
        (part.words.clone(), text)
    };
    let mut rows = vec![
        ("hash".to_owned(), task.hash().to_string()),
        ("title".into(), task.title().into()),
        ("session".into(), task.session().into()),
        ("query".into(), task.sql().into()),
        ("guarantee".into(), format!("{}, unit {}, {}", plan.guarantee(), task.unit(), task.adjacency())),
        ("covers".into(), OWN_ROWS.into()),
        ("protocol".into(), format!("{}, {} parties", plan.protocol(), plan.parties())),
        ("numbers".into(), format!("{} in {} groups", shape.cells(), shape.groups())),
    ];
    rows.extend(shape.parts.iter().map(error));
    rows.push(("clamping".into(), format!("none below {} rows per group and party", shape.rows_within(task.bound()))));
    rows.extend(
        task.parties().iter().map(|member| (member.name.clone(), format!("{} at {}", member.key, member.address))),
    );
    let table = text_table(&["task", ""], rows.into_iter().map(|(name, text)| vec![name, text]));
    print(&format!("{table}\n{}\n", checked.query().words()))?;
    let row = |(colluders, epsilon): (usize, &reticent::privacy::Epsilon)| {
        vec![colluders.to_string(), format!("{:.3}", epsilon.to_f64())]
    };
    let table = number_table(&["colluding parties", "ε for the others"], losses.iter().enumerate().map(row));
    print(&format!("{table}\n"))?;
    Ok(())
}

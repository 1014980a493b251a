//! From arguments to a plan and a statistic.

use anyhow::{Context, Result};
use reticent::privacy::{Delta, Epsilon, Guarantee};
use reticent_subsample::{Parameters, Plan, Schedule, Statistic, Summary, Unit, Worker};

use super::Arguments;
use crate::exit::usage;

/// The name of the unit that is a row.
const ROW: &str = "row";

/// How answers become a release.
///
/// # Errors
/// If a parameter is wrong.
pub fn plan(arguments: &Arguments) -> Result<Plan> {
    let epsilon: Epsilon = arguments.epsilon.parse()?;
    let delta = arguments.delta.as_ref().map(|delta| delta.parse::<Delta>()).transpose()?;
    let guarantee = match delta.clone() {
        None => Guarantee::Pure(epsilon.clone()),
        Some(delta) => Guarantee::Approx(epsilon.clone(), delta),
    };
    guarantee.confirmed(arguments.allow_large_epsilon)?;
    let jobs = arguments.jobs;
    if arguments.unpadded && jobs.get() > 1 {
        return Err(usage(format!(
            "--unpadded goes with --jobs 1: without fixed turns, how long one of {jobs} runs takes decides which others run beside it, \
             and one unit could change any number of answers"
        )));
    }
    let summary = match (&arguments.numeric, delta) {
        (None, None) => {
            return Err(usage(
                "an answer that is released unchanged needs --delta, for example --delta 1e-8 (or --numeric LO..HI for a mean with \
                 noise)",
            ));
        }
        (Some(_), Some(_)) => return Err(usage("with --numeric the guarantee is epsilon alone; leave --delta out")),
        (None, Some(delta)) => Summary::MostFrequent { delta },
        (Some(bounds), None) => Summary::Mean { bounds: bounds.parse()? },
    };
    let limit = arguments.time_limit;
    Ok(Plan::new(Parameters {
        unit: match arguments.unit.as_deref() {
            None | Some(ROW) => Unit::Row,
            Some(column) => Unit::Column(column.into()),
        },
        adjacency: arguments.adjacency.parse()?,
        blocks: arguments.blocks,
        default: arguments.default.clone(),
        schedule: if arguments.unpadded { Schedule::unpadded(limit) } else { Schedule::padded(jobs, limit) },
        ..Parameters::new(epsilon, summary)
    })?)
}

/// The statistic given by the arguments, checked without reading a row.
///
/// # Errors
/// If the program cannot be run, or the SQL does not fit these columns.
pub fn statistic(arguments: &Arguments, header: &[String]) -> Result<Statistic> {
    let statistic = match (&arguments.sql, &arguments.program) {
        (Some(_), _) if !arguments.program_arguments.is_empty() => {
            return Err(usage("what follows -- are the arguments of --program; leave them out with --sql"));
        }
        (Some(sql), _) => {
            // This executable, in another process.
            let program = std::env::current_exe().context("this program does not find itself to run the SQL")?;
            Statistic::sql(sql, header, Worker { program, arguments: vec!["block-sql".into(), "--".into()] })
        }
        (None, Some(program)) => Statistic::program(program, &arguments.program_arguments),
        (None, None) => return Err(usage("name the statistic with --sql or --program")),
    };
    Ok(statistic?)
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: Arguments,
    }

    #[test]
    fn parameters_are_checked_before_anything_is_charged() {
        for (more, said) in [
            ("", "needs --delta"),
            ("--delta 1e-8 --numeric 0..1", "leave --delta out"),
            ("--delta 2", "delta"),
            ("--numeric 1..0", "bounds"),
            ("--numeric 0..1 --default blue", "--default is blue, but with --numeric it must be a number"),
            ("--numeric 0..1 --adjacency add", "adjacency"),
            ("--numeric 0..1 --unpadded --jobs 2", "--jobs 1"),
        ] {
            let line = format!("subsample data.csv --sql x --epsilon 900 --allow-large-epsilon --blocks 3 {more}");
            let error = plan(&Line::try_parse_from(line.split_whitespace()).unwrap().arguments).unwrap_err();
            let error = crate::exit::message(&error);
            assert!(error.contains(said), "{more}: {error}");
        }
    }
}

//! From arguments to a plan and a statistic; the library's errors, with flags.

use anyhow::{Context, Result};
use reticent::privacy::{Delta, Epsilon, Guarantee};
use reticent_subsample::error::{nothing, rows_of};
use reticent_subsample::{Error, Parameters, Plan, Schedule, Statistic, Summary, Unit, Worker};

use super::{Arguments, in_words};
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
    Plan::new(Parameters {
        unit: match arguments.unit.as_deref() {
            None | Some(ROW) => Unit::Row,
            Some(column) => Unit::Column(column.into()),
        },
        adjacency: arguments.adjacency.parse()?,
        blocks: arguments.blocks,
        default: arguments.default.clone(),
        schedule: if arguments.unpadded { Schedule::unpadded(limit) } else { Schedule::padded(jobs, limit) },
        ..Parameters::new(epsilon, summary)
    })
    .map_err(with_flags)
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
    statistic.map_err(with_flags)
}

/// The library's error in terms of the command line's flags.
pub fn with_flags(error: Error) -> anyhow::Error {
    match &error {
        Error::Parameter { parameter: "default", value, .. } => {
            usage(format!("--default is {value}, but with --numeric it must be a number"))
        }
        Error::Program { program, fault } => usage(format!("--program {}", fault.of(program))),
        Error::Sql(error) => usage(format!("--sql: {error}")),
        Error::NoTrialAnswer { program, file, numeric, limit } => usage(format!(
            "--program {program} has no answer for {} (it failed, printed {}, or took longer than {}), so nothing is charged; give it \
             rows that you made up with --trial FILE, or say with --default VALUE what counts for a block without an answer",
            rows_of(file.as_deref()),
            nothing(*numeric),
            in_words(*limit)
        )),
        Error::TrialColumns { .. } => usage(format!("--trial {error}")),
        Error::Scratch { .. } => anyhow::Error::from(error).context("set TMPDIR to a directory that can be written"),
        Error::Core(core) => core.clone().into(),
        _ => error.into(),
    }
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
            assert!(error.to_string().contains(said), "{more}: {error}");
        }
    }
}

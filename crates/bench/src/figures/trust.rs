//! The price of trusting nobody: errors against the number of people.

use anyhow::Result;
use indicatif::ProgressBar;
use reticent::local::{FrequencyOracle, RandomisedResponse, lower_bound};
use reticent::noise::{DiscreteLaplace, Entropy};
use reticent::privacy::Epsilon;
use reticent_plot::{Chart, Hue, Scale, Series, Style};

use crate::parallel::in_parallel;
use crate::{Effort, Figure};

const EPSILON: &str = "1";
/// The number of choices in the second question.
const CHOICES: u64 = 100;
/// The smallest number of people, and the factor between numbers, as powers of two.
const FEWEST_POWER: u32 = 4;
const POWER_STEP: usize = 2;
/// Fewer runs would not be a measurement.
const LEAST_RUNS: u64 = 10;

/// Who is trusted, and what is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Model {
    Curator,
    YesOrNo,
    Choices,
}

impl Model {
    const ALL: [Self; 3] = [Self::Curator, Self::YesOrNo, Self::Choices];

    fn name(self) -> &'static str {
        match self {
            Self::Curator => "a trusted curator",
            Self::YesOrNo => "nobody trusted: yes or no",
            Self::Choices => "nobody trusted: 100 choices",
        }
    }
}

/// One model with a number of people.
struct Point {
    model: Model,
    people: u64,
    runs: u64,
    measured: f64,
    predicted: f64,
}

/// Curator and local model side by side.
pub fn figure(effort: Effort, bar: &ProgressBar) -> Result<Figure> {
    let crowds: Vec<u64> = (FEWEST_POWER..=effort.longest_power).step_by(POWER_STEP).map(|power| 1 << power).collect();
    let jobs: Vec<_> = crowds.iter().rev().flat_map(|people| Model::ALL.map(|model| (model, *people))).collect();
    let mut points = in_parallel(&jobs, bar, |(model, people)| point(*model, *people, effort))?;
    points.reverse();
    let mut chart = Chart::new("What it costs to trust nobody, ε = 1")
        .described(
            "Root mean square errors of a count of people: constant with a trusted curator, growing as the root of the number \
             of people in the local model, beside the lower bound for every local protocol.",
        )
        .x("people", Scale::Log)
        .y("root mean square error of a count; dots measured, broken lines predicted", Scale::Log);
    for (place, model) in Model::ALL.into_iter().enumerate() {
        let of = || points.iter().filter(move |point| point.model == model);
        let predicted = of().map(|point| (point.people as f64, point.predicted));
        let measured = of().map(|point| (point.people as f64, point.measured));
        chart = chart
            .with(Series::dashed("", predicted).coloured(Hue::Nth(place)))
            .with(Series::new(model.name(), measured, Style::Dots).coloured(Hue::Nth(place)));
    }
    let epsilon: Epsilon = EPSILON.parse()?;
    let bound = crowds.iter().map(|people| Ok((*people as f64, lower_bound(*people, &epsilon)?)));
    let bound = bound.collect::<Result<Vec<_>>>()?;
    let chart = chart.with(Series::line("no local protocol is better", bound).coloured(Hue::Muted));
    Ok(Figure { name: "trust", chart, height: 460, csv: csv(&points, &epsilon)? })
}

fn point(model: Model, people: u64, effort: Effort) -> Result<Point> {
    let runs = (effort.steps / people).clamp(LEAST_RUNS, effort.most_runs);
    let epsilon: Epsilon = EPSILON.parse()?;
    let mut entropy = Entropy::from_os()?;
    let mut rng = entropy.draw()?;
    let mut squares = 0.0;
    let variance = match model {
        Model::Curator => {
            let noise = DiscreteLaplace::new(&epsilon.value().recip()?)?;
            (0..runs).for_each(|_| squares += (noise.sample(&mut rng) as f64).powi(2));
            let p = (-epsilon.to_f64()).exp();
            2.0 * p / (1.0 - p).powi(2)
        }
        Model::YesOrNo => {
            // Every third person's true answer is yes.
            let question = RandomisedResponse::with_epsilon(&epsilon)?;
            let holders = people.div_ceil(3);
            for _ in 0..runs {
                let yes = (0..people).filter(|person| question.sample(person % 3 == 0, &mut rng)).count() as u64;
                squares += (question.estimate(yes, people)?.count() - holders as f64).powi(2);
            }
            (people as f64).powi(2) * question.estimator().variance(holders as f64 / people as f64, people)
        }
        Model::Choices => {
            // Nobody makes the last choice; the others are equally frequent.
            let oracle = FrequencyOracle::auto(CHOICES, &epsilon)?;
            for _ in 0..runs {
                let mut tally = oracle.tally();
                for person in 0..people {
                    tally.add(&oracle.sample(person % (CHOICES - 1), &mut rng))?;
                }
                let supports = oracle.supports(&mut tally)?;
                squares += oracle.estimator().estimate(supports[CHOICES as usize - 1], people)?.count().powi(2);
            }
            (people as f64).powi(2) * oracle.estimator().variance(0.0, people)
        }
    };
    Ok(Point { model, people, runs, measured: (squares / runs as f64).sqrt(), predicted: variance.sqrt() })
}

fn csv(points: &[Point], epsilon: &Epsilon) -> Result<String> {
    let mut text = String::from("model,people,runs,measured_rmse,predicted_rmse,local_lower_bound\n");
    for point in points {
        let Point { model, people, runs, measured, predicted } = point;
        let bound = lower_bound(*people, epsilon)?;
        text += &format!("{},{people},{runs},{measured},{predicted},{bound}\n", model.name());
    }
    Ok(text)
}

//! A task in words.

use reticent::local::{Domain, Memoisation, Randomiser, Task};

fn reports(count: u64) -> String {
    if count == 1 { "1 report".into() } else { format!("{count} reports") }
}

/// What a task asks, what a report reveals, and how accurate estimates will be: names and values, for people.
pub fn facts(task: &Task) -> Vec<[String; 2]> {
    let answers = match task.domain() {
        Domain::Choices(choices) if choices.len() <= 20 => choices.join(", "),
        Domain::Choices(choices) => format!("one of {} choices", choices.len()),
        Domain::Integers { lower, upper } => format!("a whole number from {lower} to {upper}"),
        Domain::Numbers(bounds) => format!("a number in {bounds}"),
        Domain::Texts { longest, .. } => format!("a text of up to {longest} letters"),
    };
    let again = match task.memoisation() {
        Memoisation::First => "the first response is repeated".to_owned(),
        Memoisation::PerAnswer => format!("each of up to {} answers has its own response", task.lifetime_answers()),
        Memoisation::Never if task.one_report_each() => "the device sends nothing: it answers once".to_owned(),
        Memoisation::Never => format!("randomised afresh, at most {} times", task.lifetime_answers()),
    };
    let mut rows = vec![
        ["question", task.question()].map(String::from),
        ["answers".into(), answers],
        ["mechanism".into(), task.mechanism().into()],
        ["guarantee per report".into(), task.guarantee().to_string()],
        ["when asked again".into(), again],
        ["guarantee of all reports".into(), format!("ε = {}", task.lifetime_epsilon())],
        ["expires".into(), task.expires().to_string()],
        ["minimum batch".into(), reports(task.minimum_batch())],
    ];
    let n = task.minimum_batch();
    let exact = match task.randomiser() {
        Randomiser::Coins(coins) => Some(*coins.estimator()),
        Randomiser::Choices(oracle) => Some(*oracle.estimator()),
        Randomiser::Mean(_) | Randomiser::Texts(_) => None,
    };
    if let Some(estimator) = exact {
        let (p, q) = (100.0 * estimator.p(), 100.0 * estimator.q());
        rows.push(["a report supports".into(), format!("the true answer in {p:.1} %, another in {q:.1} % of cases")]);
        // In people: unknown if a device may report more than once.
        if task.one_report_each() {
            let error = estimator.variance(0.0, n).sqrt() * n as f64;
            rows.push(["standard error".into(), format!("{error:.1} people of {n}, for a rare answer")]);
        }
    }
    if !task.one_report_each() {
        let reason = "none: devices may report more than once, so the number of reports is not the number of people";
        rows.push(["95 % interval", reason].map(String::from));
    }
    rows.push(["hash".into(), task.id().to_string()]);
    rows
}

//! The sums of a ledger's entries, computed independently of the ledger.

use std::collections::{BTreeMap, HashSet};

use reticent::exact::Rational;
use reticent::privacy::Guarantee;
use reticent_ledger::{Budget, DurableLedger, Entry, Event};

/// ε, δ, ρ.
type Sum = [Rational; 3];

/// Of each dataset: how often it was charged, and what was spent.
pub type Sums = BTreeMap<String, (u64, Sum)>;

/// What a charge costs under a budget: ε, δ, ρ as they are, but a pure ε is ε²/2 where ρ is counted.
fn cost(budget: &Budget, guarantee: &Guarantee) -> Sum {
    let none = || Rational::from(0);
    match (budget, guarantee) {
        (Budget::Limit(Guarantee::Zcdp(_)), Guarantee::Pure(epsilon)) => {
            let square = epsilon.value() * epsilon.value();
            [none(), none(), &square * &"1/2".parse().unwrap()]
        }
        (_, Guarantee::Pure(epsilon)) => [epsilon.value().clone(), none(), none()],
        (_, Guarantee::Approx(epsilon, delta)) => [epsilon.value().clone(), delta.value().clone(), none()],
        (_, Guarantee::Zcdp(rho)) => [none(), none(), rho.value().clone()],
    }
}

/// Adds everything up.
///
/// # Errors
/// If a request was charged twice, a dataset was charged that is not there, or spent more than it has.
pub fn sums(entries: &[Entry]) -> Result<Sums, String> {
    let (mut sums, mut budgets, mut requests) = (Sums::new(), BTreeMap::new(), HashSet::new());
    for entry in entries {
        match &entry.event {
            Event::Registered(dataset) => {
                sums.insert(dataset.name.clone(), (0, [0, 0, 0].map(Rational::from)));
                budgets.insert(dataset.name.clone(), dataset.budget.clone());
            }
            Event::Charged { charge, .. } => {
                let budget = budgets.get(&charge.dataset).ok_or("a charge before its dataset")?;
                let (charges, spent) = sums.get_mut(&charge.dataset).ok_or("a charge before its dataset")?;
                *charges += 1;
                for (sum, part) in spent.iter_mut().zip(cost(budget, &charge.guarantee)) {
                    *sum = &*sum + &part;
                }
                if let Budget::Limit(limit) = budget {
                    let limit = cost(&Budget::Unlimited, limit);
                    if spent.iter().zip(&limit).any(|(spent, limit)| spent > limit) {
                        return Err(format!("{} spent more than it has", charge.dataset));
                    }
                }
                if !requests.insert((charge.dataset.clone(), charge.request.clone())) {
                    return Err(format!("{} was charged twice", charge.request));
                }
            }
            Event::Limited { .. } => return Err("nobody set a limit".into()),
            Event::Opened { .. } | Event::Released { .. } | Event::Failed { .. } | Event::Reopened { .. } => {}
            Event::Interrupted { .. } => return Err("nobody interrupted anything".into()),
            Event::Began { .. } | Event::Computed { .. } => return Err("nobody has a stream".into()),
        }
    }
    Ok(sums)
}

/// What the ledger says its datasets have spent.
pub fn accounts(ledger: &DurableLedger) -> reticent_ledger::Result<Sums> {
    let sum = |spent: &reticent_ledger::Spend| [spent.epsilon.clone(), spent.delta.clone(), spent.rho.clone()];
    let read = |account: reticent_ledger::Account| {
        let spent = account.spent.first().map_or_else(|| [0, 0, 0].map(Rational::from), |(_, spent)| sum(spent));
        (account.dataset.name, (account.charges, spent))
    };
    Ok(ledger.accounts()?.into_iter().map(read).collect())
}

//! What an analyst may spend from a dataset's budget, and has spent.
//!
//! Caps are kept beside the ledger, not in it: the ledger limits the total spending of a dataset, a cap that of one
//! token. A cost is first reserved here, durably, and only then charged to the ledger; so a crash in between can make a
//! cap smaller, never larger.

use reticent::privacy::Guarantee;
use reticent_ledger::{Budget, Spend};
use reticent_sql::settings::words::guarantee;
use rusqlite::{OptionalExtension, TransactionBehavior, params};

use super::{Token, Tokens};
use crate::error::{Error, Result};

/// A cap as users write it: `staff=1`, `staff=1,1e-7` or `staff=rho:0.5`.
///
/// # Errors
/// If it is written otherwise.
pub fn written(text: &str) -> Result<(String, Guarantee)> {
    let wrong = |why: &str| {
        let allowed = "--cap staff=1, --cap staff=1,1e-7 or --cap staff=rho:0.5";
        Error::field("cap", format!("--cap {text}: {why}write it as {allowed}"))
    };
    let parts = text.rsplit_once('=').filter(|(dataset, _)| !dataset.is_empty());
    let (dataset, limit) = parts.ok_or_else(|| wrong(""))?;
    let limit = match (limit.strip_prefix("rho:"), limit.split_once(',')) {
        (Some(rho), _) => guarantee(None, None, Some(rho)),
        (None, Some((epsilon, delta))) => guarantee(Some(epsilon), Some(delta), None),
        (None, None) => guarantee(Some(limit), None, None),
    };
    Ok((dataset.to_owned(), limit.map_err(|error| wrong(&format!("{error}; ")))?))
}

/// A reservation for a charge, taken back if the ledger refuses it.
#[derive(Debug)]
pub struct Reservation {
    /// `None` if the same cost was reserved before: then it stays.
    number: Option<i64>,
}

impl Tokens {
    /// Reserves a cost for a token, durably; a repeated request is not counted again. Only one thread at a time may be
    /// between this call and [`Tokens::take_back`].
    ///
    /// # Errors
    /// If the token has no cap for the dataset, or too little of it is left.
    pub fn reserve(&self, token: &Token, dataset: &str, request: &str, cost: &Guarantee) -> Result<Reservation> {
        let Some(cap) = token.caps.get(dataset) else {
            let message =
                format!("the token {} has no cap for {dataset}; ask the owner for a token with one", token.name);
            return Err(Error::Forbidden(message));
        };
        let broken = || Error::Machine("the record of a token's spending was changed by hand".into());
        let text = serde_json::to_string(cost).expect("plain data");
        let mut connection = self.connection()?;
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let before = transaction
            .query_row(
                "SELECT 1 FROM spent WHERE token = ?1 AND dataset = ?2 AND request = ?3 AND cost = ?4",
                params![token.id, dataset, request, text],
                |_| Ok(()),
            )
            .optional()?;
        if before.is_some() {
            return Ok(Reservation { number: None });
        }
        let total: Option<String> = transaction
            .query_row(
                "SELECT total FROM spent WHERE token = ?1 AND dataset = ?2 ORDER BY number DESC LIMIT 1",
                params![token.id, dataset],
                |row| row.get(0),
            )
            .optional()?;
        let spent = match total {
            Some(total) => serde_json::from_str(&total).map_err(|_| broken())?,
            None => Spend::NOTHING,
        };
        let whose = format!("the token {} for {dataset}", token.name);
        let total = Budget::Limit(cap.clone()).admit(&whose, &spent, cost)?;
        let total = serde_json::to_string(&total).expect("plain data");
        transaction.execute(
            "INSERT INTO spent (token, dataset, request, cost, total) VALUES (?1, ?2, ?3, ?4, ?5)",
            params![token.id, dataset, request, text, total],
        )?;
        let number = transaction.last_insert_rowid();
        transaction.commit()?;
        Ok(Reservation { number: Some(number) })
    }

    /// Takes back the reservation for a charge that the ledger refused.
    ///
    /// # Errors
    /// If that cannot be written; then the reservation stays.
    pub fn take_back(&self, reservation: Reservation) -> Result<()> {
        if let Some(number) = reservation.number {
            self.connection()?.execute("DELETE FROM spent WHERE number = ?1", [number])?;
        }
        Ok(())
    }

    /// What a token has spent from a dataset's budget.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn spent(&self, token: &Token, dataset: &str) -> Result<Spend> {
        let total: Option<String> = self
            .connection()?
            .query_row(
                "SELECT total FROM spent WHERE token = ?1 AND dataset = ?2 ORDER BY number DESC LIMIT 1",
                params![token.id, dataset],
                |row| row.get(0),
            )
            .optional()?;
        let broken = || Error::Machine("the record of a token's spending was changed by hand".into());
        total.map_or(Ok(Spend::NOTHING), |total| serde_json::from_str(&total).map_err(|_| broken()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::role::Role;
    use crate::tokens::SpendingCaps;

    fn pure(epsilon: &str) -> Guarantee {
        Guarantee::Pure(epsilon.parse().unwrap())
    }

    #[test]
    fn a_cap_is_kept_over_requests_and_restarts() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Tokens::open(folder.path()).unwrap();
        let tokens = open();
        let text =
            tokens.create("ada", Role::Analyst, &SpendingCaps::from([("staff".to_owned(), pure("1"))]), false).unwrap();
        let ada = tokens.holder(&text).unwrap().unwrap();
        tokens.reserve(&ada, "staff", "monday", &pure("0.6")).unwrap();
        tokens.reserve(&ada, "staff", "monday", &pure("0.6")).unwrap();
        drop(tokens);
        let tokens = open();
        let refused = tokens.reserve(&ada, "staff", "tuesday", &pure("0.5")).unwrap_err();
        assert!(matches!(&refused, Error::Overdrawn(text) if text.contains("ε = 0.4 would fit")), "{refused}");
        assert!(matches!(tokens.reserve(&ada, "visits", "monday", &pure("0.1")), Err(Error::Forbidden(_))));
        // The same id at a different cost is a different charge.
        let other = tokens.reserve(&ada, "staff", "monday", &pure("0.4")).unwrap();
        assert_eq!(tokens.spent(&ada, "staff").unwrap(), Spend::of(&pure("1")));
        tokens.take_back(other).unwrap();
        let again = tokens.reserve(&ada, "staff", "monday", &pure("0.6")).unwrap();
        tokens.take_back(again).unwrap();
        assert_eq!(tokens.spent(&ada, "staff").unwrap(), Spend::of(&pure("0.6")));
    }
}

//! The text of a query: its size is checked before anything recursive sees it.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{self, Statement, Visit, Visitor};
use sqlparser::dialect::GenericDialect;
use sqlparser::keywords::Keyword;
use sqlparser::tokenizer::{Token, TokenWithSpan, Tokenizer};

use crate::algebra::{Limits, TooLarge};
use crate::error::{Error, Result};
use crate::resolve::patience::statements;
use crate::walk::{Node, walk};

/// The number of panics that became errors: tests count each as a failure.
#[cfg(feature = "test-util")]
pub static PANICS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// Runs recursive work, as deep as the query is nested, on a [stack](Limits::stack) that is large enough. A panic
/// becomes an error: no query text can end the process.
///
/// # Errors
/// Those of `work`, or if no thread can be started.
pub fn on_a_large_stack<T: Send>(limits: &Limits, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("query".into()).stack_size(limits.stack);
        let thread = thread.spawn_scoped(scope, work);
        match thread.map(std::thread::ScopedJoinHandle::join) {
            Ok(Ok(result)) => result,
            Ok(Err(_)) => {
                #[cfg(feature = "test-util")]
                PANICS.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                Err(Error::Syntax("its nesting cannot be parsed".into()))
            }
            Err(_) => Err(Error::Syntax("not enough memory to parse it".into())),
        }
    })
}

/// Checks that a query is short enough to be parsed.
///
/// # Errors
/// If it is too long.
pub fn check_bytes(sql: &str, limits: &Limits) -> Result<()> {
    match sql.len() {
        bytes if bytes > limits.bytes => Err(TooLarge::new(format!("it has {bytes} bytes"), limits.bytes).into()),
        _ => Ok(()),
    }
}

/// The tokens of a query, including whitespace. Its size is checked first: tokens take a hundred times as much memory.
///
/// # Errors
/// If it is too large, or a string literal is not terminated.
pub fn tokens(sql: &str, limits: &Limits) -> Result<Vec<TokenWithSpan>> {
    check_bytes(sql, limits)?;
    let tokens = Tokenizer::new(&GenericDialect {}, sql).tokenize_with_location();
    let tokens = tokens.map_err(|error| Error::Syntax(error.to_string()))?;
    let significant = tokens.iter().filter(|token| !matches!(token.token, Token::Whitespace(_))).count();
    if significant > limits.tokens {
        return Err(TooLarge::new(format!("it has {significant} tokens"), limits.tokens).into());
    }
    let name = |token: &TokenWithSpan| if let Token::Word(word) = &token.token { word.value.len() } else { 0 };
    let longest = tokens.iter().map(name).max().unwrap_or(0);
    if longest > limits.name {
        return Err(TooLarge::new(format!("a name in it has {longest} bytes"), limits.name).into());
    }
    Ok(tokens)
}

/// Parses one query. Call it on [a large stack](on_a_large_stack).
///
/// # Errors
/// If it is too large, not SQL, not a single statement, or not a query.
pub fn parse(sql: &str, limits: &Limits) -> Result<ast::Query> {
    let tokens = tokens(sql, limits)?.into_iter().map(as_a_name).collect();
    let mut statements = statements(tokens, limits)?;
    let (first, more) = (statements.pop(), !statements.is_empty());
    let query = match first {
        _ if more => return Err(Error::Syntax("there are several statements; send one query at a time".into())),
        None => return Err(Error::Syntax("it is empty; write SELECT COUNT(*) FROM …".into())),
        Some(Statement::Query(query)) => *query,
        Some(_) => return Err(Error::Syntax("only SELECT is supported".into())),
    };
    let mut depth = Depth::default();
    let _ = query.visit(&mut depth);
    if depth.deepest > limits.depth {
        let why = format!("use at most {} levels of nesting, for example with IN (…)", limits.depth);
        return Err(Error::unsupported("a query nested this deeply", why));
    }
    Ok(query)
}

/// The parser reads `user` as a function without parentheses; everyone else means a column.
fn as_a_name(mut token: TokenWithSpan) -> TokenWithSpan {
    if let Token::Word(word) = &mut token.token
        && word.keyword == Keyword::USER
    {
        word.keyword = Keyword::NoKeyword;
    }
    token
}

/// The names of all tables that a query reads, except those that it defines by WITH.
///
/// # Errors
/// As [`parse`].
///
/// # Example
/// ```
/// let named = reticent_sql::text::tables("SELECT COUNT(*) FROM visits JOIN plans ON visits.user = plans.user")?;
/// assert_eq!(named.into_iter().collect::<Vec<_>>(), ["plans", "visits"]);
/// # Ok::<(), reticent_sql::Error>(())
/// ```
pub fn tables(sql: &str) -> Result<BTreeSet<String>> {
    let (sql, _) = crate::dialect::split(sql)?;
    on_a_large_stack(&Limits::default(), || {
        let query = parse(&sql, &Limits::default())?;
        let (mut read, mut named) = (BTreeSet::new(), BTreeSet::new());
        walk(&query, &mut |node| match node {
            Node::Relation(relation) => {
                read.extend(relation.0.last().and_then(ast::ObjectNamePart::as_ident).map(|name| name.value.clone()));
            }
            Node::Query(ast::Query { with: Some(with), .. }) => {
                named.extend(with.cte_tables.iter().map(|table| table.alias.name.value.clone()));
            }
            _ => {}
        });
        Ok(read.difference(&named).cloned().collect())
    })
}

/// The nesting depth of expressions and sub-queries.
#[derive(Default)]
struct Depth {
    now: usize,
    deepest: usize,
}

impl Depth {
    fn deeper(&mut self) -> ControlFlow<()> {
        self.now += 1;
        self.deepest = self.deepest.max(self.now);
        ControlFlow::Continue(())
    }

    fn back(&mut self) -> ControlFlow<()> {
        self.now -= 1;
        ControlFlow::Continue(())
    }
}

impl Visitor for Depth {
    type Break = ();

    fn pre_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.deeper()
    }

    fn post_visit_query(&mut self, _: &ast::Query) -> ControlFlow<()> {
        self.back()
    }

    fn pre_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.deeper()
    }

    fn post_visit_expr(&mut self, _: &ast::Expr) -> ControlFlow<()> {
        self.back()
    }
}

//! A parser that gives up: limits how often it may try, and how deep it may recurse.
//!
//! The parser tries one reading after another. `NOT (` may be a negation or a function of that name, `((` in FROM a
//! sub-query or a join, and a mistake deep inside makes it read everything nested once for every combination. It queries
//! its dialect at every attempt: this dialect is the generic one, counts these queries, and unwinds out of the parser
//! at the limit. An error would not do, because after an error the parser tries the next reading. The dialect also
//! checks how far the stack has grown: the parser counts levels of expressions, but not every kind of recursion.

use std::any::TypeId;
use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

use sqlparser::ast::{Expr, Statement};
use sqlparser::dialect::{Dialect, GenericDialect};
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::TokenWithSpan;

use crate::algebra::{Limits, TooLarge};
use crate::error::{Error, Result};

/// Parses statements in a limited number of steps. Call it on [a large stack](super::text::on_a_large_stack).
///
/// # Errors
/// If it is not SQL, or takes more steps.
pub fn statements(tokens: Vec<TokenWithSpan>, limits: &Limits) -> Result<Vec<Statement>> {
    // The other half is for walking the statement.
    let patient = Patient { left: Cell::new(limits.steps), began: here(), deepest: limits.stack / 2 };
    let read = || Parser::new(&patient).with_tokens_with_locations(tokens).parse_statements();
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(parsed) => parsed.map_err(|error| Error::Syntax(said(&error))),
        Err(thrown) => match thrown.downcast_ref() {
            Some(GaveUp::TooDeep) => Err(Error::Syntax(TOO_DEEP.into())),
            Some(GaveUp::TooManySteps) => Err(TooLarge::new(TOO_MANY_STEPS, limits.steps).into()),
            None => resume_unwind(thrown),
        },
    }
}

const TOO_DEEP: &str = "it is nested too deeply";
const TOO_MANY_STEPS: &str = "its nested parts are ambiguous and take too many steps to parse";

fn said(error: &ParserError) -> String {
    match error {
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => TOO_DEEP.into(),
    }
}

/// The payload that unwinds out of the parser. Nothing is printed, since nothing has failed.
enum GaveUp {
    TooDeep,
    TooManySteps,
}

/// The generic dialect, with the number of queries left and the position of the stack when parsing started.
#[derive(Debug)]
struct Patient {
    left: Cell<usize>,
    began: usize,
    deepest: usize,
}

/// The current position of the stack.
#[inline(never)]
fn here() -> usize {
    let local = 0_u8;
    std::ptr::from_ref(std::hint::black_box(&local)).addr()
}

impl Patient {
    fn step(&self) {
        if self.began.abs_diff(here()) > self.deepest {
            resume_unwind(Box::new(GaveUp::TooDeep));
        }
        match self.left.get().checked_sub(1) {
            Some(left) => self.left.set(left),
            None => resume_unwind(Box::new(GaveUp::TooManySteps)),
        }
    }
}

/// Delegates to the generic dialect.
macro_rules! as_generic {
    ($($question:ident)*) => {
        $(fn $question(&self) -> bool {
            self.step();
            GenericDialect.$question()
        })*
    };
}

impl Dialect for Patient {
    fn dialect(&self) -> TypeId {
        self.step();
        TypeId::of::<GenericDialect>()
    }

    fn is_delimited_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_delimited_identifier_start(letter)
    }

    fn is_identifier_start(&self, letter: char) -> bool {
        GenericDialect.is_identifier_start(letter)
    }

    fn is_identifier_part(&self, letter: char) -> bool {
        GenericDialect.is_identifier_part(letter)
    }

    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<std::result::Result<Expr, ParserError>> {
        self.step();
        None
    }

    fn get_next_precedence(&self, _: &Parser<'_>) -> Option<std::result::Result<u8, ParserError>> {
        self.step();
        None
    }

    as_generic! {
        supports_unicode_string_literal supports_partition_by_after_order_by supports_array_join_syntax
        supports_group_by_expr supports_group_by_with_modifier supports_left_associative_joins_without_parens
        supports_connect_by supports_match_recognize supports_pipe_operator supports_start_transaction_modifier
        supports_window_function_null_treatment_arg supports_dictionary_syntax
        supports_window_clause_named_window_reference supports_parenthesized_set_variables
        supports_select_wildcard_except support_map_literal_syntax allow_extract_custom
        allow_extract_single_quotes supports_extract_comma_syntax supports_create_view_comment_syntax
        supports_parens_around_table_factor supports_values_as_table_factor supports_create_index_with_clause
        supports_explain_with_utility_options supports_limit_comma supports_update_order_by
        supports_from_first_select supports_projection_trailing_commas supports_asc_desc_in_column_definition
        supports_try_convert supports_bitwise_shift_operators supports_comment_on supports_load_extension
        supports_named_fn_args_with_assignment_operator supports_struct_literal supports_empty_projections
        supports_nested_comments supports_multiline_comment_hints supports_user_host_grantee
        supports_string_escape_constant supports_array_typedef_with_brackets supports_match_against
        supports_set_names supports_comma_separated_set_assignments supports_filter_during_aggregation
        supports_select_wildcard_exclude supports_data_type_signed_suffix supports_interval_options
        supports_quote_delimited_string supports_select_wildcard_replace supports_select_wildcard_ilike
        supports_select_wildcard_rename supports_optimize_table supports_install supports_detach
        supports_prewhere supports_with_fill supports_limit_by supports_interpolate supports_settings
        supports_select_format supports_comment_optimizer_hint supports_constraint_keyword_without_name
        supports_key_column_option supports_comma_separated_trim supports_cte_without_as
        supports_select_item_multi_column_alias supports_xml_expressions
    }
}

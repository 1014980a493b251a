//! Function names.

use super::coerce::{as_integer, as_number, as_text, same};
use crate::algebra::calendar::Part;
use crate::algebra::function::math::MOST_DIGITS;
use crate::algebra::function::{Choice, Logic, Math, Pattern, Text, Time};
use crate::algebra::{Expr, Function, Type, Value};
use crate::error::{Error, Result, no_such};

/// Mathematical functions of one argument or two, by name.
const OF_A_NUMBER: [(&str, Math); 24] = [
    ("abs", Math::Abs),
    ("sign", Math::Sign),
    ("signum", Math::Sign),
    ("ceil", Math::Ceil),
    ("ceiling", Math::Ceil),
    ("floor", Math::Floor),
    ("sqrt", Math::Sqrt),
    ("cbrt", Math::Cbrt),
    ("exp", Math::Exp),
    ("ln", Math::Ln),
    ("log2", Math::Log2),
    ("log10", Math::Log10),
    ("sin", Math::Sin),
    ("cos", Math::Cos),
    ("tan", Math::Tan),
    ("asin", Math::Asin),
    ("acos", Math::Acos),
    ("atan", Math::Atan),
    ("radians", Math::Radians),
    ("degrees", Math::Degrees),
    ("power", Math::Power),
    ("pow", Math::Power),
    ("atan2", Math::Atan2),
    ("log", Math::Log),
];

/// Text functions, by name.
const OF_TEXTS: [(&str, Text); 32] = [
    ("length", Text::Length),
    ("char_length", Text::Length),
    ("character_length", Text::Length),
    ("octet_length", Text::Bytes),
    ("lower", Text::Lower),
    ("upper", Text::Upper),
    ("trim", Text::Trim),
    ("btrim", Text::Trim),
    ("ltrim", Text::TrimStart),
    ("rtrim", Text::TrimEnd),
    ("reverse", Text::Reverse),
    ("concat", Text::ConcatAll),
    ("left", Text::Left),
    ("right", Text::Right),
    ("substr", Text::Substring),
    ("substring", Text::Substring),
    ("strpos", Text::Position),
    ("instr", Text::Position),
    ("starts_with", Text::StartsWith),
    ("ends_with", Text::EndsWith),
    ("contains", Text::Contains),
    ("replace", Text::Replace),
    ("split_part", Text::SplitPart),
    ("repeat", Text::Repeat),
    ("lpad", Text::PadStart),
    ("rpad", Text::PadEnd),
    ("len", Text::Length),
    ("ucase", Text::Upper),
    ("lcase", Text::Lower),
    ("startswith", Text::StartsWith),
    ("endswith", Text::EndsWith),
    ("position", Text::Position),
];

/// Functions that return one of their arguments, by name.
const CHOOSING: [(&str, Choice); 6] = [
    ("coalesce", Choice::Coalesce),
    ("ifnull", Choice::Coalesce),
    ("nvl", Choice::Coalesce),
    ("nullif", Choice::NullIf),
    ("greatest", Choice::Greatest),
    ("least", Choice::Least),
];

/// All other functions.
const OTHERS: [&str; 16] = [
    "round",
    "trunc",
    "truncate",
    "pi",
    "date_part",
    "datepart",
    "date_trunc",
    "regexp_like",
    "regexp_replace",
    "to_date",
    "to_timestamp",
    "date",
    "year",
    "month",
    "day",
    "if",
];

/// A function call, with its text for error messages.
pub struct Call<'a> {
    /// The name, in lower case.
    pub name: &'a str,
    /// The arguments.
    pub arguments: Vec<Expr>,
    /// The whole call as written.
    pub words: &'a str,
}

impl Call<'_> {
    /// Resolves the call.
    ///
    /// # Errors
    /// If there is no such function, or it does not accept these arguments.
    pub fn resolve(self) -> Result<Expr> {
        let named = |known: &&(&str, Math)| known.0 == self.name;
        if let Some((_, function)) = OF_A_NUMBER.iter().find(named) {
            return self.of_numbers(*function);
        }
        if let Some((_, function)) = OF_TEXTS.iter().find(|known| known.0 == self.name) {
            return self.of_texts(*function);
        }
        if let Some((_, function)) = CHOOSING.iter().find(|known| known.0 == self.name) {
            let Self { arguments, words, .. } = self;
            return call(Function::Choose(*function), same(arguments, words)?, words);
        }
        self.other()
    }

    fn of_numbers(self, function: Math) -> Result<Expr> {
        let Self { mut arguments, words, .. } = self;
        let keeps_whole = matches!(function, Math::Abs | Math::Sign | Math::Ceil | Math::Floor);
        if !(keeps_whole && arguments.iter().all(|one| one.kind() == Type::Integer)) {
            arguments = arguments.into_iter().map(|one| as_number(one, words)).collect::<Result<_>>()?;
        }
        // LOG(x) is to base 10, as in most dialects.
        let function = if function == Math::Log && arguments.len() == 1 { Math::Log10 } else { function };
        call(Function::Math(function), arguments, words)
    }

    fn of_texts(self, function: Text) -> Result<Expr> {
        let Self { arguments, words, .. } = self;
        let counts = |place: usize| match function {
            Text::Left | Text::Right | Text::Repeat | Text::PadStart | Text::PadEnd => place == 1,
            Text::Substring => place >= 1,
            Text::SplitPart => place == 2,
            _ => false,
        };
        let typed = arguments.into_iter().enumerate().map(|(place, one)| match counts(place) {
            true => as_integer(one, words),
            false => as_text(one, words),
        });
        call(Function::Text(function), typed.collect::<Result<_>>()?, words)
    }

    fn other(self) -> Result<Expr> {
        let Self { name, mut arguments, words } = self;
        let constant_text = |place: usize| match arguments.get(place).and_then(Expr::as_constant) {
            Some(Value::Text(text)) => Some(text.clone()),
            _ => None,
        };
        match (name, arguments.len()) {
            ("pi", 0) => Ok(Expr::constant(Value::Number(std::f64::consts::PI))),
            ("round" | "trunc" | "truncate", 1 | 2) => {
                let digits = match arguments.get(1).map(Expr::as_constant) {
                    None => Some(0),
                    Some(Some(Value::Integer(digits))) => i8::try_from(*digits).ok(),
                    Some(_) => None,
                };
                let digits = digits.filter(|digits| (-MOST_DIGITS..=MOST_DIGITS).contains(digits));
                let why = format!("its second argument is a constant from -{MOST_DIGITS} to {MOST_DIGITS}");
                let digits = digits.ok_or_else(|| Error::Name(format!("{words}: {why}")))?;
                let function = if name == "round" { Math::Round(digits) } else { Math::Truncate(digits) };
                let first = arguments.swap_remove(0);
                let whole = first.kind() == Type::Integer && digits == 0;
                call(Function::Math(function), vec![if whole { first } else { as_number(first, words)? }], words)
            }
            ("date_part" | "datepart" | "date_trunc", 2) => {
                let part = constant_text(0).and_then(|part| Part::named(&part));
                let part = part.ok_or_else(|| unknown_part(words))?;
                let function = if name == "date_trunc" { Time::Truncate(part) } else { Time::Extract(part) };
                time(function, arguments.swap_remove(1), words)
            }
            ("year" | "month" | "day", 1) => {
                let part = Part::named(name).ok_or_else(|| unknown_part(words))?;
                time(Time::Extract(part), arguments.swap_remove(0), words)
            }
            ("to_date" | "date", 1) => cast(arguments.swap_remove(0), Type::Date, words),
            ("to_timestamp", 1) => cast(arguments.swap_remove(0), Type::Timestamp, words),
            ("regexp_like", 2 | 3) | ("regexp_replace", 3 | 4) => {
                let wrong = || Error::Name(format!("{words}: pattern, replacement and flags must be constants"));
                let replaces = name == "regexp_replace";
                let flags = match arguments.get(2 + usize::from(replaces)) {
                    None => "".into(),
                    Some(_) => constant_text(2 + usize::from(replaces)).ok_or_else(wrong)?,
                };
                let said = |error: String| Error::Name(format!("{words}: {error}"));
                let pattern = constant_text(1).ok_or_else(wrong)?;
                let mut pattern = Pattern::regular(&pattern, flags.contains('i')).map_err(said)?;
                if replaces {
                    let replacement = constant_text(2).ok_or_else(wrong)?;
                    pattern = pattern.replacing(&replacement, flags.contains('g'));
                }
                let text = as_text(arguments.swap_remove(0), words)?;
                call(Function::Match(pattern), vec![text], words)
            }
            ("if", 3) => {
                let results = same(arguments.split_off(1), words)?;
                let [then, otherwise] = <[Expr; 2]>::try_from(results).map_err(|_| unfitting(words))?;
                let condition = arguments.swap_remove(0);
                Expr::case(vec![(condition, then)], otherwise).ok_or_else(|| unfitting(words))
            }
            _ if OTHERS.contains(&name) => Err(unfitting(words)),
            _ => Err(unknown(name)),
        }
    }
}

/// Date and timestamp functions; a text is parsed as a timestamp.
pub fn time(function: Time, of: Expr, words: &str) -> Result<Expr> {
    let of = if of.kind() == Type::Text { cast(of, Type::Timestamp, words)? } else { of };
    call(Function::Time(function), vec![of], words)
}

/// A cast, unless it already has that type.
pub fn cast(of: Expr, to: Type, words: &str) -> Result<Expr> {
    if of.kind() == to { Ok(of) } else { call(Function::Cast(to), vec![of], words) }
}

/// Calls a function.
pub fn call(function: Function, arguments: Vec<Expr>, words: &str) -> Result<Expr> {
    let kinds: Vec<String> = arguments.iter().map(|one| one.kind().to_string()).collect();
    Expr::call(function, arguments).ok_or_else(|| {
        let of = kinds.join(" and ");
        Error::Name(format!("{words} does not accept {of}; convert with CAST(… AS …)"))
    })
}

/// `NOT x`
pub fn not(of: Expr, words: &str) -> Result<Expr> {
    call(Function::Logic(Logic::Not), vec![of], words)
}

fn unfitting(words: &str) -> Error {
    Error::Name(format!("{words}: the function does not accept these arguments"))
}

fn unknown_part(words: &str) -> Error {
    Error::Name(format!(
        "{words}: the part must be one of year, quarter, month, week, day, hour, minute, second, dow, doy, epoch"
    ))
}

fn unknown(name: &str) -> Error {
    let names = OF_A_NUMBER.iter().map(|known| known.0);
    let names = names.chain(OF_TEXTS.iter().map(|known| known.0)).chain(CHOOSING.iter().map(|known| known.0));
    let mut names: Vec<&str> = names.chain(OTHERS).collect();
    names.sort_unstable();
    Error::Name(no_such("function", name, &names))
}

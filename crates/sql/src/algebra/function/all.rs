//! Every function there is, for exhaustive tests.

use super::{Arithmetic, Choice, Comparison, Function, Logic, Math, Membership, Pattern, Text, Time};
use crate::algebra::calendar::{Part, Span};
use crate::algebra::{Type, Value};

/// Lists the values of a type. Each variant needs a line: leaving one out does not compile.
macro_rules! listed {
    ($name:ident: $kind:ty { $($pattern:pat => $values:expr,)+ }) => {
        pub(crate) fn $name() -> Vec<$kind> {
            let _ = |one: $kind| match one { $($pattern => (),)+ };
            [$($values.to_vec()),+].concat()
        }
    };
}
pub(crate) use listed;

listed!(types: Type {
    Type::Boolean => [Type::Boolean],
    Type::Integer => [Type::Integer],
    Type::Number => [Type::Number],
    Type::Text => [Type::Text],
    Type::Date => [Type::Date],
    Type::Timestamp => [Type::Timestamp],
});

listed!(arithmetic: Arithmetic {
    Arithmetic::Add => [Arithmetic::Add],
    Arithmetic::Subtract => [Arithmetic::Subtract],
    Arithmetic::Multiply => [Arithmetic::Multiply],
    Arithmetic::Divide => [Arithmetic::Divide],
    Arithmetic::Remainder => [Arithmetic::Remainder],
    Arithmetic::Negate => [Arithmetic::Negate],
});

listed!(comparisons: Comparison {
    Comparison::Equal => [Comparison::Equal],
    Comparison::NotEqual => [Comparison::NotEqual],
    Comparison::Less => [Comparison::Less],
    Comparison::LessOrEqual => [Comparison::LessOrEqual],
    Comparison::Greater => [Comparison::Greater],
    Comparison::GreaterOrEqual => [Comparison::GreaterOrEqual],
    Comparison::Distinct => [Comparison::Distinct],
    Comparison::NotDistinct => [Comparison::NotDistinct],
});

listed!(logic: Logic {
    Logic::And => [Logic::And],
    Logic::Or => [Logic::Or],
    Logic::Not => [Logic::Not],
    Logic::IsTrue => [Logic::IsTrue],
    Logic::IsFalse => [Logic::IsFalse],
    Logic::IsNull => [Logic::IsNull],
});

listed!(choices: Choice {
    Choice::Coalesce => [Choice::Coalesce],
    Choice::NullIf => [Choice::NullIf],
    Choice::Greatest => [Choice::Greatest],
    Choice::Least => [Choice::Least],
});

listed!(math: Math {
    Math::Abs => [Math::Abs],
    Math::Sign => [Math::Sign],
    Math::Ceil => [Math::Ceil],
    Math::Floor => [Math::Floor],
    Math::Round(_) => [i8::MIN, -17, -1, 0, 1, 2, 17, i8::MAX].map(Math::Round),
    Math::Truncate(_) => [i8::MIN, -17, -1, 0, 1, 2, 17, i8::MAX].map(Math::Truncate),
    Math::Sqrt => [Math::Sqrt],
    Math::Cbrt => [Math::Cbrt],
    Math::Exp => [Math::Exp],
    Math::Ln => [Math::Ln],
    Math::Log2 => [Math::Log2],
    Math::Log10 => [Math::Log10],
    Math::Log => [Math::Log],
    Math::Power => [Math::Power],
    Math::Sin => [Math::Sin],
    Math::Cos => [Math::Cos],
    Math::Tan => [Math::Tan],
    Math::Asin => [Math::Asin],
    Math::Acos => [Math::Acos],
    Math::Atan => [Math::Atan],
    Math::Atan2 => [Math::Atan2],
    Math::Radians => [Math::Radians],
    Math::Degrees => [Math::Degrees],
});

listed!(texts: Text {
    Text::Length => [Text::Length],
    Text::Bytes => [Text::Bytes],
    Text::Lower => [Text::Lower],
    Text::Upper => [Text::Upper],
    Text::Trim => [Text::Trim],
    Text::TrimStart => [Text::TrimStart],
    Text::TrimEnd => [Text::TrimEnd],
    Text::Reverse => [Text::Reverse],
    Text::Concat => [Text::Concat],
    Text::ConcatAll => [Text::ConcatAll],
    Text::Left => [Text::Left],
    Text::Right => [Text::Right],
    Text::Substring => [Text::Substring],
    Text::Position => [Text::Position],
    Text::StartsWith => [Text::StartsWith],
    Text::EndsWith => [Text::EndsWith],
    Text::Contains => [Text::Contains],
    Text::Replace => [Text::Replace],
    Text::SplitPart => [Text::SplitPart],
    Text::Repeat => [Text::Repeat],
    Text::PadStart => [Text::PadStart],
    Text::PadEnd => [Text::PadEnd],
});

listed!(parts: Part {
    Part::Microsecond => [Part::Microsecond],
    Part::Millisecond => [Part::Millisecond],
    Part::Second => [Part::Second],
    Part::Minute => [Part::Minute],
    Part::Hour => [Part::Hour],
    Part::Day => [Part::Day],
    Part::Week => [Part::Week],
    Part::Month => [Part::Month],
    Part::Quarter => [Part::Quarter],
    Part::Year => [Part::Year],
    Part::DayOfWeek => [Part::DayOfWeek],
    Part::IsoDayOfWeek => [Part::IsoDayOfWeek],
    Part::DayOfYear => [Part::DayOfYear],
    Part::Epoch => [Part::Epoch],
});

fn spans() -> Vec<Span> {
    let sizes = [i64::MIN, -1, 0, 1, i64::MAX];
    let alone = |size: i64| {
        [
            Span { months: size, ..Span::default() },
            Span { days: size, ..Span::default() },
            Span { micros: size, ..Span::default() },
            Span { months: size, days: size, micros: size },
        ]
    };
    sizes.into_iter().flat_map(alone).collect()
}

listed!(times: Time {
    Time::Extract(_) => parts().into_iter().map(Time::Extract).collect::<Vec<_>>(),
    Time::Truncate(_) => parts().into_iter().map(Time::Truncate).collect::<Vec<_>>(),
    Time::Add(_) => spans().into_iter().map(Time::Add).collect::<Vec<_>>(),
    Time::AddDays => [Time::AddDays],
    Time::DaysBetween => [Time::DaysBetween],
});

fn patterns() -> Vec<Pattern> {
    let like = |text: &str, escape: Option<char>| Pattern::like(text, escape, true).expect("a short one");
    let regular = |text: &str| Pattern::regular(text, false).expect("a regular one");
    let replacing = |text: &str, by: &str, all: bool| regular(text).replacing(by, all);
    vec![
        like("", None),
        like("%a_\\", Some('\\')),
        like("%%%%%%%%x", None),
        regular("(a*)*b|^$"),
        regular("^(\\w|\\pM){3,}"),
        replacing("", "xy", true),
        replacing("x", &"x".repeat(1040), true),
        replacing(".", "$0", true),
        replacing("x+", "", false),
    ]
}

/// Sets with and without NULL, of the hostile values of each type.
fn sets() -> Vec<Membership> {
    let of = |kind: Type| {
        let mut values = super::tests::hostile(kind);
        values.truncate(6);
        let known: Vec<Value> = values.iter().filter(|value| !value.is_null()).cloned().collect();
        [Membership::new(kind, &known), Membership::new(kind, &values), Membership::new(kind, &[])]
    };
    types().into_iter().flat_map(of).collect()
}

listed!(functions: Function {
    Function::Arithmetic(_) => arithmetic().into_iter().map(Function::Arithmetic).collect::<Vec<_>>(),
    Function::Compare(_) => comparisons().into_iter().map(Function::Compare).collect::<Vec<_>>(),
    Function::Logic(_) => logic().into_iter().map(Function::Logic).collect::<Vec<_>>(),
    Function::Choose(_) => choices().into_iter().map(Function::Choose).collect::<Vec<_>>(),
    Function::Math(_) => math().into_iter().map(Function::Math).collect::<Vec<_>>(),
    Function::Text(_) => texts().into_iter().map(Function::Text).collect::<Vec<_>>(),
    Function::Time(_) => times().into_iter().map(Function::Time).collect::<Vec<_>>(),
    Function::Match(_) => patterns().into_iter().map(Function::Match).collect::<Vec<_>>(),
    Function::In(_) => sets().into_iter().map(Function::In).collect::<Vec<_>>(),
    Function::Cast(_) => types().into_iter().map(Function::Cast).collect::<Vec<_>>(),
});

impl Function {
    /// Every function, with usual and unusual parameters.
    pub(crate) fn all() -> Vec<Self> {
        functions()
    }
}

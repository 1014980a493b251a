//! Bytes that nobody wrote give an error, or a plan: never a panic.

use std::panic::catch_unwind;
use std::sync::{Arc, LazyLock};

use datafusion::arrow::array::{ArrayRef, Int64Array, StringViewArray};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::execution::TaskContext;
use datafusion::logical_expr::{Operator, ScalarUDF};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::prelude::SessionContext;
use datafusion_proto::physical_plan::{DefaultPhysicalProtoConverter, PhysicalExtensionCodec};
use reticent::noise::Entropy;
use reticent_codec::ReticentCodec;
use reticent_sql::Table;
use reticent_sql::bound::{BoundExec, Caps, ChoiceKey, Layout, Measure, PublicKeys};
use reticent_sql::check::guarded::{Guarded, Operation};
use reticent_sql::check::unordered::unordered;
use reticent_sql::table::Kind;

use tokio::runtime::Runtime;

use crate::tables::Tables;

static CONTEXT: LazyLock<Arc<TaskContext>> = LazyLock::new(Arc::default);
static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());

/// Reads bytes, and says whether they made sense.
type Read<'a> = Box<dyn Fn(&[u8]) -> bool + std::panic::RefUnwindSafe + 'a>;

/// Every beginning of the bytes, every bit flipped, and every byte made the largest one.
fn try_all(what: &str, bytes: &[u8], read: &Read<'_>) {
    assert!(read(bytes), "the control: {what} can be read");
    let attempt = |bytes: &[u8], change: &str| {
        catch_unwind(|| read(bytes)).unwrap_or_else(|_| panic!("{what} with {change} panicked"))
    };
    for length in 0..bytes.len() {
        assert!(
            !attempt(&bytes[..length], &format!("{length} bytes")) || length == 0,
            "{what}: {length} bytes are enough"
        );
    }
    let mut longer = bytes.to_vec();
    longer.push(0);
    assert!(!attempt(&longer, "a byte too many"), "{what}: a byte too many went unnoticed");
    for place in 0..bytes.len() {
        for change in (0..8).map(|bit| 1 << bit).chain([0xff]) {
            let mut changed = bytes.to_vec();
            changed[place] ^= change;
            attempt(&changed, &format!("byte {place} changed by {change}"));
        }
    }
}

fn operator() -> (Arc<dyn ExecutionPlan>, BoundExec) {
    let field = |name: &str, kind: DataType| Field::new(name, kind, true);
    let schema = Schema::new(vec![
        field("person", DataType::Utf8View),
        field("place", DataType::Utf8View),
        field("floor", DataType::Int64),
        field("spent", DataType::Float64),
    ]);
    let input: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(schema)));
    let grid = reticent::statistic::Grid::new(&"-20..100".parse().unwrap());
    let measures = vec![
        Measure::Present { column: 0 },
        Measure::Moments { column: 0, grid: grid.clone(), squares: true },
        Measure::Bins { column: 0, grid: grid.clone(), bins: 12 },
        Measure::Magnitudes { column: 0 },
        Measure::Values { column: 0, grid },
        Measure::Items { column: 0 },
    ];
    let columns: [ArrayRef; 2] = [
        Arc::new(StringViewArray::from(vec!["a", "a place that is long", "c"])),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
    ];
    let known = PublicKeys { columns: columns.to_vec() };
    let key = ChoiceKey::draw(&mut Entropy::seeded(1).draw().unwrap());
    let layout = Layout { unit: true, keys: 2, measures };
    let bound =
        BoundExec::try_new(input.clone(), &layout, Some(Caps { groups: 3, rows: 4 }), Some(&known), key).unwrap();
    (input, bound)
}

/// Runs it, too: what could be read must be safe to run.
fn runs(plan: &Arc<dyn ExecutionPlan>) {
    let _ = RUNTIME.block_on(async {
        let stream = plan.execute(0, CONTEXT.clone())?;
        datafusion::physical_plan::common::collect(stream).await
    });
}

fn decode(bytes: &[u8], inputs: &[Arc<dyn ExecutionPlan>]) -> Option<Arc<dyn ExecutionPlan>> {
    ReticentCodec.try_decode(bytes, inputs, &CONTEXT, &DefaultPhysicalProtoConverter {}).ok()
}

fn encode(plan: Arc<dyn ExecutionPlan>) -> Vec<u8> {
    let mut bytes = Vec::new();
    ReticentCodec.try_encode(plan, &mut bytes, &DefaultPhysicalProtoConverter {}).unwrap();
    bytes
}

#[test]
fn bytes_of_the_bounding_operator() {
    let (input, bound) = operator();
    let inputs = std::panic::AssertUnwindSafe([input]);
    let read = move |bytes: &[u8]| {
        let inputs = &inputs;
        let plan = decode(bytes, &inputs.0);
        plan.inspect(runs).is_some()
    };
    try_all("the bounding operator", &encode(Arc::new(bound)), &(Box::new(read) as Read<'_>));
}

#[test]
fn bytes_of_scans() {
    let tables = Tables::small();
    for file in ["places.csv", "visits.ndjson", "visits.arrow"] {
        let table = Table::open("t", tables.path(file).to_str().unwrap()).unwrap();
        let columns = [("name".to_owned(), Kind::Text), ("size".to_owned(), Kind::Number)];
        let provider = table.provider(&columns).unwrap();
        let session = SessionContext::new();
        let plan = RUNTIME.block_on(provider.scan(&session.state(), None, &[], None)).unwrap();
        // The smallest file is read each time.
        let read = |bytes: &[u8]| {
            decode(bytes, &[])
                .inspect(|plan| {
                    if file == "places.csv" {
                        runs(plan)
                    }
                })
                .is_some()
        };
        try_all(file, &encode(plan), &(Box::new(read) as Read<'_>));
    }
}

#[test]
fn bytes_of_functions() {
    let upper = SessionContext::new().state().scalar_functions()["upper"].clone();
    for operation in
        [Operation::Operator(Operator::Divide), Operation::Cast(DataType::Decimal128(5, 2)), Operation::Function(upper)]
    {
        let function: ScalarUDF = Guarded::function(operation.clone());
        let mut bytes = Vec::new();
        ReticentCodec.try_encode_udf(&function, &mut bytes).unwrap();
        assert_eq!(*ReticentCodec.try_decode_udf(function.name(), &bytes).unwrap(), function);
        let read = |bytes: &[u8]| ReticentCodec.try_decode_udf("upper", bytes).is_ok();
        try_all(&format!("{operation:?}"), &bytes, &(Box::new(read) as Read<'_>));
    }
    for name in ["sum", "avg", "min", "max"] {
        let function = unordered(name).unwrap();
        let mut bytes = Vec::new();
        ReticentCodec.try_encode_udaf(&function, &mut bytes).unwrap();
        assert_eq!(*ReticentCodec.try_decode_udaf(function.name(), &bytes).unwrap(), function);
        let read = |bytes: &[u8]| ReticentCodec.try_decode_udaf("sum", bytes).is_ok();
        try_all(name, &bytes, &(Box::new(read) as Read<'_>));
    }
}

#[test]
fn functions_of_the_engine_need_no_bytes() {
    assert_eq!(ReticentCodec.try_decode_udf("upper", &[]).unwrap().name(), "upper");
    assert_eq!(ReticentCodec.try_decode_udaf("count", &[]).unwrap().name(), "count");
    let error = ReticentCodec.try_decode_udf("no_such", &[]).unwrap_err().to_string();
    assert!(error.contains("there is no function no_such"), "{error}");
}

#[test]
fn errors_say_what_is_wrong() {
    let (input, bound) = operator();
    let bytes = bound.to_bytes().unwrap();
    let error = |bytes: &[u8]| BoundExec::from_bytes(input.clone(), bytes).unwrap_err().to_string();
    assert!(error(&bytes[..20]).contains("the bounding operator cannot be read"), "{}", error(&bytes[..20]));
    let mut other = bytes.clone();
    other[0] = 77;
    assert!(error(&other).contains("version 77"), "{}", error(&other));
    let narrow: Arc<dyn ExecutionPlan> = Arc::new(EmptyExec::new(Arc::new(Schema::empty())));
    let error = BoundExec::from_bytes(narrow, &bytes).unwrap_err().to_string();
    assert!(error.contains("the plan has 0 columns"), "{error}");
}

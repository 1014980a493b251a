//! Scans in another process: parts of files, and how Parquet is read.

use std::any::Any;
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::datasource::physical_plan::{FileScanConfig, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::physical_plan::{ExecutionPlan, ExecutionPlanProperties, common};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::{
    physical_plan_from_bytes_with_extension_codec, physical_plan_to_bytes_with_extension_codec,
};
use reticent_codec::ReticentCodec;
use reticent_sql::Table;
use reticent_sql::table::{Kind, scan_from_bytes, scan_to_bytes};

use crate::tables::{MANY_ROWS, Tables};

const COLUMNS: [(&str, Kind); 4] =
    [("note", Kind::Text), ("person", Kind::Text), ("spent", Kind::Number), ("place", Kind::Text)];

async fn scan(tables: &Tables, file: &str, partitions: usize) -> Arc<dyn ExecutionPlan> {
    let session = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(partitions));
    let columns = COLUMNS.map(|(name, kind)| (name.to_owned(), kind));
    let table = Table::open("visits", tables.path(file).to_str().unwrap()).unwrap();
    let provider = table.provider(&columns).unwrap();
    let wanted = ["person", "spent", "note"].map(|name| provider.schema().index_of(name).unwrap());
    provider.scan(&session.state(), Some(&wanted.to_vec()), &[], None).await.unwrap()
}

async fn rows(plan: &dyn ExecutionPlan, partition: usize) -> Vec<RecordBatch> {
    let context = SessionContext::new().task_ctx();
    common::collect(plan.execute(partition, context).unwrap()).await.unwrap()
}

#[test]
fn parts_that_are_cut_one_by_one_are_those_that_are_cut_together() {
    let tables = Tables::large();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    runtime.block_on(async {
        for file in ["visits.csv", "visits.ndjson", "visits.arrow"] {
            let plan = scan(&tables, file, 3).await;
            let partitions = plan.output_partitioning().partition_count();
            assert!(partitions >= 2, "the control: {file} is cut into {partitions} parts");
            let bytes = scan_to_bytes(plan.as_ref()).unwrap().unwrap();
            let mut together = Vec::new();
            for partition in 0..partitions {
                // Each from bytes of its own: nobody else has found out where its part begins.
                let alone = rows(scan_from_bytes(&bytes).unwrap().as_ref(), partition).await;
                let here = rows(plan.as_ref(), partition).await;
                assert!(!here.is_empty() && here == alone, "{file}, part {partition}");
                together.extend(alone);
            }
            let whole = rows(scan(&tables, file, 1).await.as_ref(), 0).await;
            let count = |batches: &[RecordBatch]| batches.iter().map(RecordBatch::num_rows).sum::<usize>() as u64;
            assert_eq!(count(&whole), count(&together), "{file}");
            assert!(count(&whole) >= MANY_ROWS - MANY_ROWS / 100, "{file}");
        }
    });
}

/// What Parquet files say about their values is not used, whatever the session is that runs the scan.
#[test]
fn parquet_is_read_elsewhere_as_it_is_here() {
    let tables = Tables::small();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let plan = runtime.block_on(scan(&tables, "visits-?.parquet", 2));
    let bytes = physical_plan_to_bytes_with_extension_codec(plan.clone(), &ReticentCodec).unwrap();
    let context = SessionContext::new().task_ctx();
    let copy = physical_plan_from_bytes_with_extension_codec(&bytes, &context, &ReticentCodec).unwrap();
    let options = |plan: &Arc<dyn ExecutionPlan>| {
        let source: &dyn Any = plan.downcast_ref::<DataSourceExec>().unwrap().data_source().as_ref();
        let source = source.downcast_ref::<FileScanConfig>().unwrap().file_source();
        source.downcast_ref::<ParquetSource>().unwrap().table_parquet_options().global.clone()
    };
    assert_eq!(options(&plan), options(&copy));
    assert!(!options(&copy).pruning && !options(&copy).pushdown_filters && !options(&copy).bloom_filter_on_read);
}

//! This program again, as a process that knows nothing but a plan's bytes.

use std::env;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::ipc::reader::FileReader;
use datafusion::arrow::ipc::writer::FileWriter;
use datafusion::physical_plan::common::collect;
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::bytes::physical_plan_from_bytes_with_extension_codec;
use reticent_codec::{ReticentCodec, apart};

/// Where the plan's bytes are; without it, the test below does nothing.
const PLAN: &str = "RETICENT_TEST_PLAN";
const PARTITION: &str = "RETICENT_TEST_PARTITION";
/// Whether other partitions of the plan run elsewhere.
const APART: &str = "RETICENT_TEST_APART";
/// Where the output is to go.
const OUTPUT: &str = "RETICENT_TEST_OUTPUT";

/// A process that runs one partition of a plan.
pub struct Task {
    child: Child,
    output: PathBuf,
}

impl Task {
    /// If siblings run elsewhere, `apart` from this one, nothing of theirs may be taken over.
    pub fn start(plan: &Path, partition: usize, apart: bool, output: PathBuf) -> Self {
        let child = Command::new(env::current_exe().unwrap())
            .args(["--exact", "child::the_other_process", "--test-threads=1"])
            .env(PLAN, plan)
            .env(PARTITION, partition.to_string())
            .env(APART, apart.to_string())
            .env(OUTPUT, &output)
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Self { child, output }
    }

    /// What the partition gave.
    pub fn finish(mut self) -> Vec<RecordBatch> {
        assert!(self.child.wait().unwrap().success(), "the other process failed");
        let reader = FileReader::try_new(File::open(&self.output).unwrap(), None).unwrap();
        reader.map(Result::unwrap).collect()
    }
}

#[test]
fn the_other_process() {
    let Ok(plan) = env::var(PLAN) else { return };
    let setting = |name: &str| env::var(name).unwrap();
    let partition = setting(PARTITION).parse().unwrap();
    let config = if setting(APART) == "true" { apart() } else { SessionConfig::new() };
    let context = SessionContext::new_with_config(config).task_ctx();
    let bytes = fs::read(plan).unwrap();
    let plan = physical_plan_from_bytes_with_extension_codec(&bytes, &context, &ReticentCodec).unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().build().unwrap();
    let batches = runtime.block_on(async { collect(plan.execute(partition, context).unwrap()).await.unwrap() });
    let mut writer = FileWriter::try_new(File::create(setting(OUTPUT)).unwrap(), &plan.schema()).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.finish().unwrap();
}

//! The table: visits of a million users of skewed activity to a thousand categories of skewed popularity.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use rand_core::Rng;
use reticent::noise::Entropy;

use crate::Outcome;

/// Rows.
pub const ROWS: usize = 10_000_000;
const USERS: usize = ROWS / 10;
pub const CATEGORIES: usize = 1000;
/// The n-th most active user's share of visits is proportional to n to the minus this.
const USER_SKEW: f64 = 0.6;
const CATEGORY_SKEW: f64 = 1.05;
/// Values are sums of two exponentials of this mean, up to [`LARGEST`].
const MEAN: f64 = 15.0;
/// The end of the values' range.
pub const LARGEST: f64 = 100.0;
/// 2023-11-14 and a year from then, in seconds.
const START: i64 = 1_700_000_000;
const YEAR: u64 = 365 * 86_400;
const ROW_GROUP: usize = 1 << 18;
const SEED: u64 = 20_240_601;

/// Writes it as Parquet.
pub fn write(path: &Path) -> Outcome<()> {
    let mut entropy = Entropy::seeded(SEED);
    let mut rng = entropy.draw()?;
    let mut uniform = || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    // How active a user is does not follow from the number.
    let mut users: Vec<i64> = (0..USERS as i64).collect();
    for place in (1..USERS).rev() {
        users.swap(place, (uniform() * (place + 1) as f64) as usize);
    }
    let (activity, popularity) = (cumulated(USERS, USER_SKEW), cumulated(CATEGORIES, CATEGORY_SKEW));
    let unfinished = path.with_extension("part");
    let mut writer = None;
    for from in (0..ROWS).step_by(ROW_GROUP) {
        let rows = ROW_GROUP.min(ROWS - from);
        let user = Int64Array::from_iter_values((0..rows).map(|_| users[draw(&activity, uniform())]));
        let category = Int64Array::from_iter_values((0..rows).map(|_| draw(&popularity, uniform()) as i64));
        let value = |_| -MEAN * ((1.0 - uniform()) * (1.0 - uniform())).ln();
        let value =
            Float64Array::from_iter_values((0..rows).map(value).map(|value| (value.min(LARGEST) * 1e4).round() / 1e4));
        let time = Int64Array::from_iter_values((0..rows).map(|_| START + (uniform() * YEAR as f64) as i64));
        let columns: [(&str, ArrayRef); 4] = [
            ("user_id", Arc::new(user)),
            ("category", Arc::new(category)),
            ("value", Arc::new(value)),
            ("ts", Arc::new(time)),
        ];
        let batch = RecordBatch::try_from_iter(columns)?;
        if writer.is_none() {
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(ZstdLevel::default()))
                .set_max_row_group_row_count(Some(ROW_GROUP));
            writer = Some(ArrowWriter::try_new(File::create(&unfinished)?, batch.schema(), Some(properties.build()))?);
        }
        if let Some(writer) = &mut writer {
            writer.write(&batch)?;
        }
    }
    if let Some(writer) = writer {
        writer.close()?;
    }
    Ok(std::fs::rename(unfinished, path)?)
}

/// Cumulative shares: of the first, of the first two, …
fn cumulated(number: usize, skew: f64) -> Vec<f64> {
    let weights = (1..=number).map(|rank| (rank as f64).powf(-skew));
    let total: f64 = weights.clone().sum();
    let shares = weights.scan(0.0, |sum, weight| {
        *sum += weight / total;
        Some(*sum)
    });
    shares.collect()
}

fn draw(cumulated: &[f64], uniform: f64) -> usize {
    cumulated.partition_point(|&share| share < uniform).min(cumulated.len() - 1)
}

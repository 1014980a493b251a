//! Whatever is drawn, the result is a well-formed, small, readable document.

use proptest::prelude::*;
use reticent_plot::{Background, Chart, Hue, Scale, Series, Style, releases};

/// The size limit of a chart.
const MOST_BYTES: usize = 300_000;

fn check(chart: &Chart, width: u32, height: u32) -> String {
    let svg = chart.to_svg(width, height);
    assert!(svg.len() < MOST_BYTES, "{} bytes", svg.len());
    let document = roxmltree::Document::parse(&svg).unwrap_or_else(|error| panic!("{error}\n{svg}"));
    assert_eq!(document.root_element().attribute("role"), Some("img"));
    assert!(document.descendants().any(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "title"))));
    assert!(!svg.contains("NaN") && !svg.contains("inf\""), "{svg}");
    svg
}

fn words(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let text = document.descendants().filter(|node| node.tag_name().name() == "text");
    text.filter_map(|node| node.text()).map(|text| text.trim().to_owned()).collect()
}

fn styles() -> [Style; 5] {
    let half_widths = vec![1.0, f64::NAN, f64::INFINITY, -3.0];
    [Style::Line, Style::Dashed, Style::Band { half_widths }, Style::Bars, Style::Dots]
}

#[test]
fn awkward_data_is_drawn() {
    let awkward: [&[(f64, f64)]; 12] = [
        &[],
        &[(1.0, 1.0)],
        &[(0.0, 0.0)],
        &[(3.0, 7.0), (3.0, 7.0), (3.0, 7.0)],
        &[(1.0, 5.0), (2.0, 5.0)],
        &[(f64::NAN, 1.0), (1.0, f64::NAN), (f64::INFINITY, f64::NEG_INFINITY)],
        &[(1.0, 1.0), (2.0, f64::NAN), (3.0, 2.0)],
        &[(-f64::MAX, f64::MAX), (f64::MAX, -f64::MAX)],
        &[(1e-308, 5e-324), (1.0, 1e300)],
        &[(1e300, -1e300), (-1e300, 1e300)],
        &[(1e15, 1e15 + 1.0), (1e15 + 1.0, 1e15 + 2.0)],
        &[(-5.0, -5.0), (-4.0, -6.0)],
    ];
    for points in awkward {
        for style in styles() {
            for (x, y) in [(Scale::Linear, Scale::Linear), (Scale::Log, Scale::Linear), (Scale::Log, Scale::Log)] {
                let series = Series::new("awkward", points.iter().copied(), style.clone());
                let chart = Chart::new("t").x("x", x).y("y", y).with(series.clone()).with(series);
                check(&chart, 720, 420);
            }
        }
    }
    check(&Chart::default(), 0, 0);
    check(&Chart::new("nothing"), u32::MAX, u32::MAX);
}

#[test]
fn a_million_points_stay_small() {
    let noise = |n: u32| f64::from(n.wrapping_mul(2_654_435_761) >> 8);
    let holes = |n: u32| if n.is_multiple_of(2) { f64::NAN } else { noise(n) };
    for style in styles() {
        for with_holes in [false, true] {
            let points = (0..1_000_000).map(|n| (f64::from(n), if with_holes { holes(n) } else { noise(n) }));
            check(&Chart::new("many").with(Series::new("", points, style.clone())), 1200, 600);
        }
    }
    let many = (0..40).fold(Chart::new("many series"), |chart, n| {
        chart.with(Series::line(format!("{n}"), (0..50_000).map(|i| (f64::from(i), noise(i + n)))))
    });
    check(&many, 1200, 800);
    let unordered = (0..1_000_000).map(|n| (noise(n), noise(n + 1)));
    check(&Chart::new("unordered").with(Series::line("", unordered)), 1200, 600);
}

#[test]
fn an_outlier_among_a_million_is_seen() {
    let flat = (0..1_000_000).map(|n| (f64::from(n), if n == 123_456 { 100.0 } else { 0.0 }));
    let svg = check(&Chart::new("").with(Series::line("", flat)), 720, 420);
    let document = roxmltree::Document::parse(&svg).unwrap();
    let heights = document.descendants().filter(|node| node.tag_name().name() == "polyline").map(|line| {
        let points = line.attribute("points").unwrap_or_default();
        let y: Vec<i32> = points.split_whitespace().filter_map(|p| p.split_once(',')?.1.parse().ok()).collect();
        (y.len(), y.iter().max().unwrap() - y.iter().min().unwrap())
    });
    let (_, height) = heights.max().unwrap();
    assert!(height > 1000, "{height} quarter pixels");
}

#[test]
fn what_is_written_can_be_read() {
    let sizes = (4..=20).map(|power| 2f64.powi(power));
    let chart = Chart::new("A & B <c> \"d\"")
        .described("what it < shows")
        .x("steps", Scale::Log)
        .y("error", Scale::Log)
        .with(Series::line("first", sizes.clone().map(|t| (t, t * 3.0))))
        .with(Series::dashed("se<cond", sizes.map(|t| (t, t))).coloured(Hue::Muted));
    for (width, height) in [(360, 360), (760, 460)] {
        let words = words(&check(&chart, width, height));
        for word in ["A & B <c> \"d\"", "steps", "error", "first", "se<cond", "2¹⁰", "100k"] {
            assert!(words.iter().any(|other| other == word), "{word} in {words:?}");
        }
    }
    let svg = check(&chart, 360, 360);
    assert!(svg.contains("<desc>what it &lt; shows</desc>"));
}

#[test]
fn the_background_is_white_unless_asked_otherwise() {
    let chart = Chart::new("t").with(Series::line("", [(0.0, 0.0), (1.0, 1.0)]));
    assert!(check(&chart, 360, 360).contains("#FFFFFF"));
    let chart = Chart { background: Background::Transparent, ..chart };
    assert!(!check(&chart, 360, 360).contains("#FFFFFF"));
}

#[test]
fn releases_are_drawn_with_their_band() {
    let svg = check(&releases("Visitors", 0.95, (1..100).map(|step| (step, step as i64, 10.0))), 720, 420);
    let document = roxmltree::Document::parse(&svg).unwrap();
    assert_eq!(document.descendants().filter(|node| node.tag_name().name() == "polygon").count(), 1);
    check(&releases("Nothing yet", 0.95, []), 720, 420);
    check(&releases("Extremes", 0.999, [(0, i64::MIN, f64::MAX), (u64::MAX, i64::MAX, f64::NAN)]), 720, 420);
}

fn any_number() -> impl Strategy<Value = f64> {
    prop_oneof![4 => -1e3..1e3, 1 => proptest::num::f64::ANY, 1 => (0..64u32).prop_map(|power| 2f64.powi(power as i32))]
}

fn any_series() -> impl Strategy<Value = Series> {
    let points = proptest::collection::vec((any_number(), any_number()), 0..60);
    let half_widths = proptest::collection::vec(any_number(), 0..60);
    let hue = prop_oneof![Just(Hue::Next), Just(Hue::Muted), any::<usize>().prop_map(Hue::Nth)];
    (any::<String>(), points, half_widths, 0..5usize, hue).prop_map(|(name, points, half_widths, style, hue)| {
        let style = match style {
            2 => Style::Band { half_widths },
            style => styles()[style].clone(),
        };
        Series { name, points, style, hue }
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_chart_is_well_formed(
        texts in any::<[String; 4]>(),
        logs in any::<[bool; 2]>(),
        series in proptest::collection::vec(any_series(), 0..12),
        (width, height) in (0..2000u32, 0..2000u32),
    ) {
        let scale = |log| if log { Scale::Log } else { Scale::Linear };
        let [title, description, x_label, y_label] = texts;
        let [x_scale, y_scale] = logs.map(scale);
        let background = Background::White;
        check(&Chart { title, description, x_label, y_label, x_scale, y_scale, series, background }, width, height);
    }
}

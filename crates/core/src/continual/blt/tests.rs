//! What is proved and claimed of `blt`.

use super::*;
use crate::continual::bounds::lower_bound;
use crate::noise::Entropy;

/// The ρ of the reference figures: what (1, 10⁻⁶) allows.
const RHO: f64 = 0.024355934605668213;

fn zcdp(rho: &str) -> Guarantee {
    Guarantee::Zcdp(rho.parse().unwrap())
}

fn bits(steps: u64) -> Stream {
    Stream::bits().until(steps).unwrap()
}

/// Average root mean square errors of continuous noise with 3 and 5 buffers, as other software finds them.
#[test]
fn errors_are_at_most_those_of_reference() {
    let reference = [(10, 14.1075, 14.0922), (16, 20.4134, 20.1065), (20, 25.1973, 24.1767), (24, 30.8138, 28.3747)];
    for (bits, with_3, with_5) in reference {
        for (buffers, error) in [(3, with_3), (5, with_5)] {
            let found = libm::sqrt(optimiser::optimise(buffers, 1 << bits).error / (2.0 * RHO));
            assert!(found <= 1.0001 * error, "2^{bits}, {buffers} buffers: {found} for {error}");
        }
    }
    let rho = "0.024355934605668213";
    let blt = Blt::with_buffers(bits(1 << 20), zcdp(rho), 5).unwrap();
    let error = libm::sqrt(blt.average_variance(1 << 20));
    assert!(error < 1.05 * lower_bound(1 << 20, &rho.parse().unwrap()), "{error}");
}

#[test]
fn zz_table() {
    for bits in [0u32, 1, 3, 6, 10, 16, 20, 24, 30, 36, 40] {
        let rho = "0.024355934605668213".parse().unwrap();
        print!("2^{bits} lower {:.4} |", lower_bound(1 << bits, &rho));
        for d in 2..=6 {
            let start = std::time::Instant::now();
            let o = optimiser::optimise(d, 1 << bits);
            let time = start.elapsed();
            print!(
                " {:.4} ({:.1}ms, k1*T={:.3})",
                (o.error / (2.0 * RHO)).sqrt(),
                time.as_secs_f64() * 1e3,
                o.poles[0] * (1u64 << bits) as f64
            );
        }
        let start = std::time::Instant::now();
        let s = Stream::bits().until(1 << bits).unwrap();
        let p = Blt::choose(&s, &zcdp("0.024355934605668213")).unwrap();
        let b = Blt::new(s, zcdp("0.024355934605668213"), p).unwrap();
        println!(
            " auto d={} f={} {:.4} {:?}",
            b.buffers.len(),
            b.parameters.fraction_bits,
            b.average_variance(1 << bits).sqrt(),
            start.elapsed()
        );
    }
}

use super::*;
use crate::Permit;
use crate::ledger::Receipt;
use crate::noise::Entropy;
use crate::privacy::Epsilon;

/// With this ε a draw differs from 0 once in e^1000 times: the result is exact.
const SILENT: &str = "1000";

fn epsilon(text: &str) -> Epsilon {
    text.parse().unwrap()
}

fn masked(colluders: u32, parties: u32) -> Plan {
    Plan::new(Protocol::Masked { colluders }, parties, Sums { cells: 1, bound: 1000, sensitivity: 1 }, &epsilon("1"))
        .unwrap()
}

fn permit() -> Permit {
    Permit::unaccounted_from(Entropy::seeded(9))
}

fn both() -> [Protocol; 2] {
    [Protocol::Broadcast, Protocol::Masked { colluders: 1 }]
}

#[test]
fn parameters_are_refused_by_name() {
    let refused = |protocol, parties, cells, bound, sensitivity, text: &str| {
        Plan::new(protocol, parties, Sums { cells, bound, sensitivity }, &epsilon(text)).unwrap_err().to_string()
    };
    let masked = |colluders| Protocol::Masked { colluders };
    for (error, start) in [
        (refused(Protocol::Broadcast, 0, 1, 1, 1, "1"), "number of parties is 0,"),
        (refused(masked(0), 1 << 21, 1, 1, 1, "1"), "number of parties is 2097152,"),
        (refused(masked(3), 3, 1, 1, 1, "1"), "number of colluders is 3,"),
        (refused(masked(u32::MAX), 3, 1, 1, 1, "1"), "number of colluders is 4294967295,"),
        (refused(masked(1), 3, 0, 1, 1, "1"), "number of cells is 0,"),
        (refused(masked(1), 3, usize::MAX, 1, 1, "1"), "number of cells is"),
        (refused(masked(1), 3, 1, 0, 1, "1"), "bound is 0,"),
        (refused(masked(1), 3, 1, i64::MIN, 1, "1"), "bound is -"),
        (refused(masked(1), 3, 1, 1, 0, "1"), "sensitivity is 0,"),
        (refused(masked(1), 3, 1, 1, 1, "1e-16"), "epsilon is 1e-16,"),
        (refused(Protocol::Broadcast, 3, 1, 1, 1, "1001"), "epsilon is 1001,"),
    ] {
        assert!(error.starts_with(start), "{error}");
    }
}

/// Sums and noise that could leave 64 bits are refused when the plan is made.
#[test]
fn the_range_is_checked_beforehand() {
    let made = |parties, bound, scale_bits: u32| {
        let sensitivity = 1u64 << scale_bits;
        Plan::new(Protocol::Masked { colluders: 0 }, parties, Sums { cells: 10, bound, sensitivity }, &epsilon("1"))
            .is_ok()
    };
    assert!(made(2, i64::MAX / 2 - (1 << 50), 0));
    assert!(!made(2, i64::MAX / 2, 0) && !made(3, i64::MAX / 2, 0) && !made(1, i64::MAX, 0));
    // 2^50·(64·ln 2 + ln 20) is about 2^55.6.
    assert!(made(1, i64::MAX - (1 << 57), 50) && !made(1, i64::MAX - (1 << 55), 50));
}

/// Noise that is always 0: masks cancel out, sums are exact, values outside the bound are clamped to it.
#[test]
fn sums_are_exact_but_for_the_noise() {
    for protocol in both() {
        let plan = Plan::new(protocol, 3, Sums { cells: 4, bound: 100, sensitivity: 1 }, &epsilon(SILENT)).unwrap();
        let statistics = [[1, -2, 3, i64::MAX], [10, 20, -30, 0], [100, -100, 5, i64::MIN]];
        let run = Simulation::run(&plan, &statistics, &mut permit()).unwrap();
        assert_eq!(run.release().value(), &[111, -82, -22, 0]);
        assert_eq!(plan.output(run.transcript()).unwrap(), [111, -82, -22, 0]);
        assert_eq!(run.release().error_bar().half_width(), 0.0);
        assert_eq!(run.transcript().rounds().len(), 1);
    }
}

/// As long as two parties are honest, neither's number is in the masked view; their sum is. Holding all but one party
/// reveals it.
#[test]
fn a_view_of_the_masked_protocol_has_the_honest_sum_and_no_more() {
    const NUMBERS: [[i64; 1]; 4] = [[770_001], [880_002], [990_003], [660_004]];
    let plan = Plan::new(
        Protocol::Masked { colluders: 3 },
        4,
        Sums { cells: 1, bound: 1 << 40, sensitivity: 1 },
        &epsilon(SILENT),
    )
    .unwrap();
    let run = Simulation::run(&plan, &NUMBERS, &mut permit()).unwrap();
    let view = run.view(&Adversary::holding(4, [0, 3]).unwrap());
    assert_eq!((view.honest.as_slice(), view.honest_sums(&plan)), ([1, 2].as_slice(), vec![1_870_005]));
    let text = serde_json::to_string(&(&view, view.unmasked(&plan))).unwrap();
    assert!(text.contains("770001") && text.contains("660004"), "what it holds it knows");
    assert!(!text.contains("880002") && !text.contains("990003"), "{text}");
    for honest in 0..4 {
        let view = run.view(&Adversary::all_but(4, honest).unwrap());
        assert_eq!(view.honest_sums(&plan), NUMBERS[honest as usize]);
    }
}

#[test]
fn adversaries_hold_parties_that_are_there_and_not_all() {
    assert!(Adversary::holding(3, [0, 3]).unwrap_err().is_parameter());
    assert!(Adversary::holding(3, [0, 1, 2]).unwrap_err().is_parameter());
    assert!(Adversary::all_but(3, 3).unwrap_err().is_parameter());
    assert_eq!(Adversary::all_but(3, 1).unwrap().held().collect::<Vec<_>>(), [0, 2]);
}

/// Two parties that both add their mask: the result is 64 random bits.
#[test]
fn a_wrong_sign_of_a_mask_does_not_go_unnoticed() {
    let plan = Plan::new(
        Protocol::Masked { colluders: 0 },
        2,
        Sums { cells: 1, bound: 1000, sensitivity: 1 },
        &epsilon(SILENT),
    )
    .unwrap();
    let says = |as_party: u32, peer: u32| {
        let seeds = vec![MaskSeed::new(peer, &mut [3; 32])];
        plan.mask(plan.share(&[5], &mut permit()).unwrap(), as_party, seeds).unwrap()
    };
    assert_eq!(plan.sum(&[says(0, 1), says(1, 0)]).unwrap(), [10]);
    assert!(plan.sum(&[says(0, 1), says(0, 1)]).unwrap()[0].unsigned_abs() > 1 << 32);
}

#[test]
fn each_share_is_paid_for() {
    for protocol in both() {
        let plan = Plan::new(protocol, 3, Sums { cells: 1, bound: 10, sensitivity: 1 }, &epsilon("1")).unwrap();
        let receipt = Receipt { dataset: "clinic".into(), request: "r".into(), entry: 1 };
        let mut permit = Permit::from_durable_charge(receipt, plan.guarantee(), Entropy::seeded(1));
        assert!(plan.share(&[1, 2], &mut permit).unwrap_err().is_parameter(), "what cannot be is free");
        let share = plan.share(&[1], &mut permit).unwrap();
        assert_eq!(format!("{share:?} {}", share.accounting()), "Share(…) charged to clinic (entry 1)");
        assert!(plan.share(&[1], &mut permit).unwrap_err().is_not_permitted());
    }
}

#[test]
fn messages_that_do_not_fit_are_refused() {
    let plan = Plan::new(Protocol::Broadcast, 2, Sums { cells: 2, bound: 10, sensitivity: 1 }, &epsilon("1")).unwrap();
    let seeds = vec![MaskSeed::new(1, &mut [1; 32])];
    assert!(plan.mask(plan.share(&[1, 1], &mut permit()).unwrap(), 0, seeds).unwrap_err().is_parameter());
    assert!(plan.sum(&[vec![1, 2]]).unwrap_err().is_parameter());
    assert!(plan.sum(&[vec![1, 2], vec![1]]).unwrap_err().is_parameter());
    assert!(plan.sum(&[vec![1, 2], vec![u64::MAX, 3]]).unwrap() == [0, 5]);
    assert!(plan.output(&Transcript::new()).unwrap_err().is_parameter());
    let other = Plan::new(Protocol::Broadcast, 2, Sums { cells: 3, bound: 10, sensitivity: 1 }, &epsilon("1")).unwrap();
    assert!(other.mask(plan.share(&[1, 1], &mut permit()).unwrap(), 0, vec![]).unwrap_err().is_parameter());
    assert!(Simulation::run(&plan, &[[1, 2]], &mut permit()).unwrap_err().is_parameter());
    let crowd = masked(0, simulation::MOST_MASKED + 1);
    let nothing = vec![[0]; crowd.parties() as usize];
    assert!(Simulation::run(&crowd, &nothing, &mut permit()).unwrap_err().is_parameter());
    assert!(Simulation::run(&plan, &[vec![1, 2], vec![1]], &mut permit()).unwrap_err().is_parameter());
}

#[test]
fn the_price_of_colluders() {
    let curator =
        Plan::new(Protocol::Broadcast, 1, Sums { cells: 1, bound: 1000, sensitivity: 1 }, &epsilon("1")).unwrap();
    let broadcast =
        Plan::new(Protocol::Broadcast, 12, Sums { cells: 1, bound: 1000, sensitivity: 1 }, &epsilon("1")).unwrap();
    for colluders in 0..12 {
        let plan = masked(colluders, 12);
        let factor = plan.standard_deviation() / curator.standard_deviation();
        assert!((factor * factor - 12.0 / f64::from(12 - colluders)).abs() < 1e-9);
        let losses = plan.losses();
        assert!(losses.windows(2).all(|pair| pair[0] <= pair[1]) && losses.len() == 12);
        let planned = colluders as usize + 1;
        assert!(losses[..planned].iter().all(|loss| *loss == epsilon("1")));
        assert!(losses[planned..].iter().all(|loss| *loss > epsilon("1")));
    }
    assert_eq!(masked(11, 12).error_bar(), broadcast.error_bar(), "masks that trust nobody gain nothing");
    assert_eq!(masked(0, 12).error_bar(), curator.error_bar());
    assert!(broadcast.losses().iter().all(|loss| *loss == epsilon("1")));
    assert!(masked(3, 12).loss_against(12).unwrap_err().is_parameter());
}

#[test]
fn protocols_are_written_as_in_a_task() {
    let text = serde_json::to_string(&both()).unwrap();
    assert_eq!(text, r#"["broadcast",{"masked":{"colluders":1}}]"#);
    assert_eq!(serde_json::from_str::<[Protocol; 2]>(&text).unwrap(), both());
    assert_eq!(both().map(|protocol| protocol.to_string()), ["broadcast", "masked (t = 1)"]);
}

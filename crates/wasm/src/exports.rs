//! The three functions through which bytes go in and out.

use std::cell::RefCell;

use crate::request;

thread_local! {
    static INPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Takes the request's next byte.
#[allow(unsafe_code, reason = "the attribute gives the function its name, which no other function has")]
#[unsafe(no_mangle)]
pub extern "C" fn reticent_push(byte: u32) {
    INPUT.with_borrow_mut(|input| input.push(byte as u8));
}

/// Answers the pushed request, and forgets it; returns the answer's length.
#[allow(unsafe_code, reason = "the attribute gives the function its name, which no other function has")]
#[unsafe(no_mangle)]
pub extern "C" fn reticent_answer() -> u32 {
    let mut input = INPUT.take();
    let answer = request::answer(&input).into_bytes();
    // It contained a person's answer and key.
    input.fill(0);
    OUTPUT.set(answer);
    OUTPUT.with_borrow(|output| output.len() as u32)
}

/// One byte of the answer; 0 beyond its end.
#[allow(unsafe_code, reason = "the attribute gives the function its name, which no other function has")]
#[unsafe(no_mangle)]
pub extern "C" fn reticent_pull(index: u32) -> u32 {
    OUTPUT.with_borrow(|output| output.get(index as usize).copied().unwrap_or(0).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(text: &str) -> String {
        text.bytes().for_each(|byte| reticent_push(byte.into()));
        let length = reticent_answer();
        String::from_utf8((0..length).map(|index| reticent_pull(index) as u8).collect()).unwrap()
    }

    #[test]
    fn bytes_go_in_and_out_and_requests_do_not_mix() {
        let first = ask("é");
        assert!(first.starts_with(r#"{"error":"#), "{first}");
        assert_eq!(ask("é"), first, "nothing is left of the first");
        assert_eq!(reticent_pull(1 << 20), 0);
    }
}

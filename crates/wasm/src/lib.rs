//! The local model in a browser.
//!
//! A page gives a task and an answer; the answer is randomised here, and only then is there something to send. The ES module
//! `js/reticent.js` (types in `js/reticent.d.ts`) is what pages use; it loads the WebAssembly that this crate is compiled to, takes
//! seeds from `crypto.getRandomValues`, and keeps what a device must remember in `localStorage`.
//!
//! | module | holds |
//! |---|---|
//! | [`request`] | what the page can ask for, and the answers: JSON in, JSON out |
//! | [`task`] | a task, from the JSON in which it is published |
//! | [`json`] | reading JSON |
//! | `exports` | the three functions through which bytes go in and out |
//!
//! # Why it is small
//! A page that asks one question should not load a megabyte. So this reckons with [`reticent::local::light`], whose numbers have 128 bits
//! at most, and reads JSON by itself; `cargo xtask wasm` builds it and refuses a module of 120 kB or more.
//!
//! # Why there is no binding generator
//! The interface is one function of text to text. Bytes are handed over one by one, by calls that only take and return numbers:
//! no pointers, so no unsafe code; no imports, so nothing that the module could do but compute; no tool beyond `cargo` to build it
//! and no generated code to trust:
//!
//! ```text
//! cargo xtask wasm
//! ```

mod exports;
pub mod json;
pub mod request;
pub mod task;

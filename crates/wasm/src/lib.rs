//! The local model in a browser.
//!
//! A page passes in a task and an answer; the answer is randomised here, and only then is there something to send.
//! Pages use the ES module `js/reticent.js` (types in `js/reticent.d.ts`); it loads the WebAssembly that this crate is
//! compiled to, takes seeds from `crypto.getRandomValues`, and stores what a device must remember in `localStorage`.
//!
//! | module | holds |
//! |---|---|
//! | [`request`] | the page's requests and their answers: JSON in, JSON out |
//! | [`task`] | a task, from its published JSON |
//! | [`json`] | parsing JSON |
//! | `exports` | the three functions through which bytes go in and out |
//!
//! # Why it is small
//! A page that asks one question should not load a megabyte. So this crate uses [`reticent::local::light`], whose
//! numbers have at most 128 bits, and has its own JSON parser; `cargo xtask wasm` builds it and rejects a module of 120
//! kB or more.
//!
//! # Why there is no binding generator
//! The interface is one function from text to text. Bytes are passed one by one, by calls that only take and return
//! numbers: no pointers, so no unsafe code; no imports, so the module can do nothing but compute; no tool beyond
//! `cargo` to build it and no generated code to trust:
//!
//! ```text
//! cargo xtask wasm
//! ```

mod exports;
pub mod json;
pub mod request;
pub mod task;

//! Promises.
//!
//! | module       | what it is about                                                        |
//! |--------------|-------------------------------------------------------------------------|
//! | `shared`     | [`Promise`]: for all threads                                            |
//! | `local`      | [`LocalPromise`]: for the loop's own thread                             |
//! | `vocabulary` | what both can do                                                        |
//! | `resolving`  | what settles them                                                       |
//! | `mode`       | what tells them apart, inside                                           |
//! | `node`       | a promise in memory                                                     |
//! | `member`     | several promises in one allocation                                      |
//! | `word`       | the word that says how far it is                                        |
//! | `reference`  | counting, attaching                                                     |
//! | `settle`     | settling, following, reading the outcome                                |
//! | `reaction`   | reactions in the queue, and their end without a loop                    |
//! | `react`      | the reaction of a handler                                               |
//! | `combine`    | `all`, `all_settled`, `any`, `race`                                     |
//! | `promisify`  | promises for what blocks a thread                                       |
//! | `offload`    | what a worker does for one                                              |
//! | `waiters`    | waiting by a task or a thread                                           |
//! | `bridge`     | from promises of all threads to those of one                            |
//! | `readers`    | reading values after the end                                            |
//! | `registry`   | which promises are pending, for the end of the loop                     |
//! | `rejections` | which rejections nobody handles                                         |
//! | `rejection`  | reasons                                                                 |

mod bridge;
mod combine;
mod id;
mod local;
mod member;
mod mode;
mod node;
mod offload;
mod panicked;
mod promisify;
mod react;
mod reaction;
mod readers;
mod reference;
mod registry;
mod rejection;
mod rejections;
mod resolving;
mod settle;
mod shared;
mod state;
mod vocabulary;
mod waiters;
mod word;

pub use combine::AggregateError;
pub use id::PromiseId;
pub use local::{LocalPromise, LocalResolver};
pub use panicked::Panicked;
pub use rejection::{LocalRejection, Rejection};
pub use rejections::UnhandledRejection;
pub use shared::{Promise, Resolver};
pub use state::{PromiseState, WaitError};

pub(crate) use bridge::Bridges;
pub(crate) use offload::{Errand, is_on_errand};
pub(crate) use readers::Readers;
pub(crate) use registry::{Newcomers, Registry};
pub(crate) use rejections::Rejections;

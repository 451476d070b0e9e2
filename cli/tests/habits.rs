//! What all commands have in common: how they write files, use what their output goes to, exit, and advise.

mod bytes;
mod colours;
mod exit_codes;
mod handing_on;
mod pipes;
mod printing;
mod profiles;
pub mod program;
mod remedies;
mod tools;
mod variables;
mod writing;

//! What is reported of a batch while it is answered.

use std::collections::BTreeMap;

use crate::commands::Failure;
use crate::printing;

use super::progress::Progress;

/// What has been reported, and what is left for the end.
pub(super) struct Remarks<'n> {
    name: &'n str,
    unit: &'static str,
    progress: Progress,
    warnings: Warnings,
    /// How many rows are none.
    faults: u64,
}

impl<'n> Remarks<'n> {
    /// Of the rows that were answered before, so many were none.
    pub(super) fn new(
        name: &'n str,
        unit: &'static str,
        progress: Progress,
        faults: u64,
    ) -> Remarks<'n> {
        Remarks {
            name,
            unit,
            progress,
            warnings: Warnings::default(),
            faults,
        }
    }

    pub(super) fn take(&mut self, faults: &[String], warnings: Vec<(u64, String)>) {
        for fault in faults {
            self.progress.clear();
            printing::tell(format_args!("error: {fault}\n"));
        }
        self.faults += faults.len() as u64;
        for (row, warning) in warnings {
            if self.warnings.is_new(row, &warning) {
                self.progress.clear();
                printing::tell(format_args!("warning: {}:{row}: {warning}\n", self.name));
            }
        }
    }

    pub(super) fn done(&mut self, rows: u64, end: u64) {
        self.progress.add(rows, end);
    }

    /// All has been answered, or nobody wants more.
    pub(super) fn end(mut self) -> Result<(), Failure> {
        self.progress.end();
        let (name, unit) = (self.name, self.unit);
        self.warnings.report_repeated(name, unit);
        match self.faults {
            0 => Ok(()),
            1 => Err(Failure::Input(format!(
                "{name}: a {unit} could not be read"
            ))),
            faults => Err(Failure::Input(format!(
                "{name}: {faults} {unit}s could not be read"
            ))),
        }
    }
}

/// The warnings that have been reported: batches are long, and their rows alike.
#[derive(Default)]
struct Warnings {
    /// Each with its first row, and how often it has come again.
    known: BTreeMap<String, (u64, usize)>,
}

impl Warnings {
    /// So many different ones are counted. Of others each is reported.
    const COUNTED: usize = 1000;

    fn is_new(&mut self, row: u64, warning: &str) -> bool {
        if let Some((_, again)) = self.known.get_mut(warning) {
            *again += 1;
            return false;
        }
        if self.known.len() < Self::COUNTED {
            self.known.insert(warning.to_owned(), (row, 0));
        }
        true
    }

    fn report_repeated(&self, name: &str, unit: &str) {
        let known = self.known.iter();
        let known = known.map(|(warning, (row, again))| (row, again, warning));
        let mut repeated: Vec<_> = known.filter(|(_, again, _)| **again > 0).collect();
        repeated.sort();
        for (row, again, warning) in repeated {
            let rows = match again {
                1 => format!("1 more {unit}"),
                count => format!("{count} more {unit}s"),
            };
            printing::tell(format_args!(
                "warning: {name}: {rows} as {unit} {row}: {warning}\n"
            ));
        }
    }
}

//! Holds `cargo bench --bench peers` together; there is nothing to use.

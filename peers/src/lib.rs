//! Benchmarks beside other parsers of what models write; see `benches/peers.rs`.

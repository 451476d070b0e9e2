//! The workbench: a text goes through the streaming parser, step by step, before one's eyes.

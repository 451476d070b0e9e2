//! The workbench: a text goes through the streaming parser, step by step, before one's eyes.
//!
//! A [`Workbench`] is a state. Whatever happens is a [`Message`], and [`Workbench::update`] takes it in:
//! there is no terminal in it, no file and no clock. What has to be done outside comes out as an
//! [`Effect`]. [`draw`] shows the state, and changes nothing.
//!
//! ```
//! use crossterm::event::KeyCode;
//! use ratatui::buffer::Buffer;
//! use ratatui::layout::Rect;
//! use unjinja_cli::tui::{Message, Target, Workbench, render};
//!
//! let loaded = Target::new("../examples/chat_template.jinja").load(None)?;
//! let mut workbench = Workbench::new(loaded, Vec::new(), (80, 24));
//! for key in [KeyCode::Home, KeyCode::Right] {
//!     workbench.update(Message::Key(key.into()));
//! }
//! let mut buffer = Buffer::empty(Rect::new(0, 0, 80, 24));
//! render(&workbench, &mut buffer);
//! let first_line: String = (0..80).map(|x| buffer[(x, 0)].symbol()).collect();
//! assert!(first_line.contains("by token, chunk 1 of"), "{first_line}");
//! # Ok::<(), unjinja_cli::tui::OpenError>(())
//! ```

#[cfg(test)]
mod adversarial;
mod conversation;
mod difference;
mod effects;
mod glyphs;
mod keys;
mod layout;
mod live;
mod loaded;
mod message;
mod rows;
mod sample;
mod state;
mod style;
mod target;
mod terminal;
mod tokens;
mod update;
mod view;

pub use conversation::OpenedConversation;
pub use effects::EffectRunner;
pub use live::follow;
pub use loaded::{Loaded, LoadedFormat, OpenError, Outlier, TemplatePlace};
pub use message::{Done, Doubt, Effect, FileChange, Keep, Kept, Message};
pub use sample::{Origin, Sample, Verdict};
pub use state::Workbench;
#[cfg(feature = "serve")]
pub(crate) use style::{Styles, escape_code};
pub use target::Target;
pub use terminal::{TerminalError, check_terminal, run};
pub use view::{draw, render};

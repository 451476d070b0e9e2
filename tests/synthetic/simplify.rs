//! Making a failing format as simple as it can be.

use crate::synthetic::format::{
    Arguments, Body, Content, Format, Ids, Json, Kept, Keys, Part, Separator, begins_with_word,
};
use crate::synthetic::random::Pair;
use crate::synthetic::trial::{Outcome, try_format};

/// The simplest format in which the same thing goes wrong.
pub fn simplified(seed: u64, outcome: &Outcome) -> Outcome {
    let mut best = outcome.clone();
    let case = outcome.wrong[0].case;
    loop {
        let better = simpler(&best.format).into_iter().find_map(|format| {
            let outcome = try_format(seed, best.number, format);
            outcome
                .wrong
                .iter()
                .any(|wrong| wrong.case == case)
                .then_some(outcome)
        });
        match better {
            Some(better) => best = better,
            None => return best,
        }
    }
}

/// Formats that are simpler in one thing.
fn simpler(format: &Format) -> Vec<Format> {
    let mut all = Vec::new();
    let mut put = |change: &dyn Fn(&mut Format)| {
        let mut next = format.clone();
        change(&mut next);
        if next != *format {
            all.push(next);
        }
    };
    put(&|f| f.reasoning = None);
    put(&|f| f.calls = None);
    put(&|f| f.content = Content::Plain);
    put(&|f| {
        if !f.calls.as_ref().is_some_and(begins_with_word) {
            f.gap = "";
        }
    });
    put(&|f| f.calls_first = false);
    put(&|f| f.turns.lead = "");
    put(&|f| f.turns.calls_end = None);
    put(&|f| f.turns.instructions = false);
    put(&|f| {
        if f.joint.is_some() {
            return;
        }
        let turn = |role: &str| Pair::new(format!("<|im_start|>{role}\n"), "<|im_end|>\n");
        f.turns.system = Some(turn("system"));
        f.turns.user = turn("user");
        f.turns.tool = turn("tool");
        f.turns.assistant = turn("assistant");
        f.turns.tools = Pair::new("<tools>", "</tools>");
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning
            && !reasoning.close.contains("END_")
        {
            reasoning.after_close = "";
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning {
            reasoning.closed_when_off = false;
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning
            && !reasoning.opened_by_prompt
        {
            reasoning.empty = false;
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning
            && reasoning.kept != Kept::Never
        {
            reasoning.kept = Kept::Always;
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning {
            reasoning.opened_by_prompt = false;
            if reasoning.kept == Kept::Never {
                reasoning.kept = Kept::Always;
            }
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning
            && reasoning.open.is_some()
        {
            reasoning.open = Some("<think>".into());
            reasoning.close = "</think>".into();
        }
    });
    put(&|f| {
        if let Some(reasoning) = &mut f.reasoning {
            reasoning.key = "reasoning_content";
            reasoning.switch = "enable_thinking";
        }
    });
    let Some(calls) = &format.calls else {
        return all;
    };
    let has_marker = !calls.each.open.is_empty() || matches!(calls.body, Body::Named { .. });
    let alone = Pair::new("", "");
    let mut put = |change: &dyn Fn(&mut crate::synthetic::format::Calls)| {
        let mut next = format.clone();
        if let Some(calls) = &mut next.calls {
            change(calls);
        }
        if next != *format {
            all.push(next);
        }
    };
    if has_marker {
        put(&|c| c.section = alone.clone());
    }
    if !calls.section.open.is_empty() {
        put(&|c| c.section = Pair::new("<calls>\n", "\n</calls>"));
    }
    if !calls.each.open.is_empty() {
        put(&|c| c.each = Pair::new("<call>", "</call>"));
        if matches!(calls.body, Body::Named { .. }) {
            put(&|c| c.each = alone.clone());
        }
    }
    let is_fence = calls.each.open.starts_with('`');
    if has_marker && !is_fence {
        put(&|c| c.separator = Separator::between(""));
    }
    put(&|c| c.several = true);
    put(&|c| {
        if c.ids != Ids::Named {
            c.ids = Ids::Prefixed;
        }
    });
    put(&|c| {
        if let Body::Object { json, .. }
        | Body::Named {
            arguments: Arguments::Json(json),
            ..
        } = &mut c.body
        {
            *json = Json::Plain;
        }
    });
    put(&|c| {
        if let Body::Object { keys, .. } = &mut c.body {
            *keys = Keys::Plain {
                name: "name",
                arguments: "arguments",
                id: None,
                nested: None,
                typed: false,
                as_text: false,
                arguments_first: false,
            };
        }
    });
    put(&|c| {
        if let Body::Named { head, close, .. } = &mut c.body {
            *head = vec![
                Part::Text("<tool=".into()),
                Part::Name,
                Part::Text(">".into()),
            ];
            *close = "</tool>".into();
        }
    });
    put(&|c| {
        if let Body::Named { arguments, .. } = &mut c.body {
            *arguments = Arguments::Json(Json::Plain);
        }
    });
    put(&|c| {
        if let Body::Named {
            arguments: Arguments::Tagged(tagged),
            ..
        } = &mut c.body
        {
            tagged.before_key = "<arg=".into();
            tagged.between = vec![">".into()];
            tagged.after_value = "</arg>".into();
        }
    });
    put(&|c| {
        if let Body::Named {
            arguments: Arguments::Tagged(tagged),
            ..
        } = &mut c.body
        {
            tagged.separator = Separator::between("");
        }
    });
    put(&|c| {
        if let Body::Named {
            arguments: Arguments::Tagged(tagged),
            ..
        } = &mut c.body
        {
            tagged.literals = false;
            tagged.quoted = false;
            tagged.wrapping = None;
        }
    });
    all
}

//! The parts of a turn's calls, read off their tree: what drafts are written from.

use crate::format::{
    ArgumentView, CallView, Dialect, Node, Row, Slot, ValueForm, ValueType, ValueWriting,
};

use super::call_shape::CallShape;
use crate::markers::{self, unlikely_in_prose};

/// The parts of a turn's calls.
#[derive(Debug, Clone)]
pub(crate) struct CallParts<'a> {
    /// What opens a turn's calls.
    pub(crate) section_open: Row,
    /// What closes them.
    pub(crate) section_close: Row,
    /// Whether several calls have the brackets of a list around them that one has not.
    pub(crate) several_in_brackets: bool,
    /// What stands between two calls.
    pub(crate) separator: Row,
    /// What opens a call, up to its body.
    pub(crate) open: Row,
    /// What a call consists of, or one array of all calls.
    pub(crate) body: &'a Node,
    /// What closes a call; some formats name it or its id there.
    pub(crate) close: Row,
    /// Whether a turn may hold several calls.
    pub(crate) several: bool,
}

impl CallShape {
    /// The parts that its tree has.
    pub(crate) fn parts(&self) -> Option<CallParts<'_>> {
        let call = CallView::of(&self.node)?;
        Some(CallParts {
            section_open: self.section_open.clone(),
            section_close: self.section_close.clone(),
            several_in_brackets: self.several_in_brackets,
            separator: Row::of(call.separator),
            open: Row::of(call.open),
            body: call.body,
            close: Row::of(call.close),
            several: call.several,
        })
    }
}

impl<'a> CallParts<'a> {
    /// The text that a call begins with; none if it begins with a slot or its body.
    pub(crate) fn first_text(&self) -> &str {
        self.open.first_text()
    }

    /// What opens and what closes a turn's calls, if both are markers.
    pub(crate) fn section_markers(&self) -> Option<[&str; 2]> {
        let section = [self.section_open.trim(), self.section_close.trim()];
        let are_markers = section.iter().all(|text| markers::is_closed(text));
        (are_markers && !self.is_array()).then_some(section)
    }

    /// What stands between the marker that opens a call and each name, as `tools.` in `<call>tools.read`.
    pub(crate) fn name_prefix(&self) -> Option<&str> {
        let text = self.first_text();
        let is_before_name = self.open.nodes().get(1) == Some(&Node::Slot(Slot::Name));
        let marker = markers::markers(text).last().filter(|_| is_before_name)?;
        let (_, prefix) = text.rsplit_once(marker)?;
        let prefix = prefix.trim_start();
        let word = prefix.strip_suffix(['.', '/'])?;
        let is_word = !word.is_empty() && word.chars().all(char::is_alphanumeric);
        is_word.then_some(prefix)
    }

    /// Returns whether a marker stands behind each name, before its arguments.
    pub(crate) fn has_marker_behind_name(&self) -> bool {
        let behind = self.open.nodes().iter();
        let mut behind = behind.skip_while(|node| **node != Node::Slot(Slot::Name));
        behind.any(
            |node| matches!(node, Node::Literal(text) if markers::markers(text).next().is_some()),
        )
    }

    /// Whether calls are separated as items of a list are: white space behind such a sign means nothing.
    pub(crate) fn is_list(&self) -> bool {
        self.separator.trim_end().ends_with([',', ';'])
    }

    /// Whether one array holds all calls.
    pub(crate) fn is_array(&self) -> bool {
        matches!(self.body, Node::Array(_))
    }

    /// What stands around all calls of a turn, where these are a list as Python writes one: `[f(a=1), g()]`.
    pub(crate) fn around_python_list(&self) -> Option<[&str; 2]> {
        let arguments = self.single_arguments()?;
        let is_call = match self.open.nodes() {
            [Node::Slot(Slot::Name), Node::Literal(open)] => open.trim_end() == "(",
            _ => false,
        };
        let is_call = is_call && self.close.trim() == ")";
        // `f(a: 1)` and `f a=1` are no Python, and no parser for it reads them.
        let quote = arguments.raw_quote.map_or(String::new(), String::from);
        let is_assigned = |text: &Row| text.trim().strip_suffix(&*quote) == Some("=");
        let is_assigned = arguments.between.iter().all(is_assigned);
        let are_listed =
            arguments.separator.trim() == "," && (self.separator.trim() == "," || !self.several);
        let open = self.section_open.trim_end().strip_suffix('[')?;
        let close = self.section_close.trim_start().strip_prefix(']')?;
        (arguments.in_python && is_call && is_assigned && are_listed).then_some([open, close])
    }

    /// What opens a call up to the sign that ends its tag, as `<call name="NAME"`, if it is such a tag.
    pub(crate) fn unclosed_tag(&self) -> Option<Row> {
        let open = self.open.trim_end().strip_suffix('>')?;
        let open = self.open.without_end(self.open.len() - open.len());
        let rest = open.last_text()?;
        let is_end = !rest.is_empty() && !rest.contains(['<', '>']);
        let first = self.first_text();
        let is_begun = first.rfind('<') > first.rfind('>');
        (is_end && is_begun && open.has(Slot::Name)).then_some(open)
    }

    /// Whether a call is an object of JSON that nothing opens.
    pub(crate) fn is_bare_object(&self) -> bool {
        self.open.is_empty() && matches!(self.body, Node::Object(..))
    }

    /// The dialect of a call, or its arguments, that are JSON.
    pub(crate) fn dialect(&self) -> Option<&'a Dialect> {
        match self.single_body() {
            Node::Object(_, dialect) | Node::Arguments(dialect) | Node::JsonString(_, dialect) => {
                Some(dialect)
            }
            _ => None,
        }
    }

    /// Where the parts of a call are that is an object of JSON.
    pub(crate) fn keys(&self) -> Option<CallKeys<'a>> {
        keys_of(self.single_body())
    }

    /// The body of one call.
    fn single_body(&self) -> &'a Node {
        let item = match self.body {
            Node::Array(calls) => &calls.item,
            body => body,
        };
        match item {
            Node::Call(call) => call,
            item => item,
        }
    }

    /// Whether a call is JSON that ends with a bracket, as all but a string does.
    pub(crate) fn ends_with_bracket(&self) -> bool {
        self.dialect().is_some() && !matches!(self.single_body(), Node::JsonString(..))
    }

    /// Whether a call has brackets of its own, around its JSON or around arguments as Python writes them.
    pub(crate) fn has_brackets(&self) -> bool {
        let arguments = self.single_arguments();
        self.ends_with_bracket() || arguments.is_some_and(|arguments| arguments.in_python)
    }

    /// Whether it is JSON that ends with a bracket, and what closes it is none.
    pub(crate) fn closes_behind_bracket(&self, close: &str) -> bool {
        self.ends_with_bracket() && close.starts_with(|c| !"}])\"',".contains(c))
    }

    /// Whether a call has arguments that are closed by markers, one by one, and is closed by another.
    pub(crate) fn closes_behind_argument(&self) -> bool {
        let close = self.close.trim();
        let closes_argument = |argument: &Row| {
            let argument = argument.trim();
            unlikely_in_prose(argument) && !argument.contains(close)
        };
        let arguments = self.single_arguments();
        let arguments = arguments.filter(|arguments| !arguments.in_python);
        let is_clear = unlikely_in_prose(close) && !self.close.has_slots();
        is_clear && arguments.is_some_and(|arguments| arguments.closes.iter().all(closes_argument))
    }

    /// Whether what closes a call has a line break before it that no argument holds, since all are JSON.
    pub(crate) fn closes_behind_line_break(&self) -> bool {
        let arguments = self.single_arguments();
        let is_clear = unlikely_in_prose(self.close.trim()) && !self.close.has_slots();
        is_clear
            && self.close.starts_with('\n')
            && arguments.is_some_and(|arguments| arguments.has_json_texts())
    }

    /// Arguments that stand one by one.
    pub(crate) fn single_arguments(&self) -> Option<SingleArguments<'a>> {
        let ways = self.body.argument_ways()?;
        let Node::Repetition(all) = self.body else {
            return None;
        };
        let mut found = SingleArguments {
            separator: Row::of(all.separator.parts()),
            ..SingleArguments::default()
        };
        for way in ways {
            let way = ArgumentView::of(way)?;
            // `<str k>` and `<num k>` are two ways, and `=` between key and value is the same in both.
            push_new(&mut found.opens, Row::of(way.open));
            push_new(&mut found.between, Row::of(way.between));
            push_new(&mut found.closes, Row::of(way.close));
            found.forms.extend(way.forms);
        }
        // `<f a="x">` has the arguments of Python, and not its bracket.
        let has_bracket = self.section_open.contains('(') || self.open.contains('(');
        // `f(a=the sea)` ends nowhere. In a list, beside `b=['north', 'south']`, the template prints all values as they are,
        // and its model writes the quotes.
        let behind_name = self.open.last_text().unwrap_or_default();
        let is_call = behind_name.trim_start().starts_with('(') && found.separator.trim() == ",";
        let is_listed =
            is_call && self.section_open.trim_end().ends_with('[') && found.has_python_lists();
        let texts = found.written(ValueType::String);
        let has_quotes = texts.is_some_and(|texts| *texts != ValueWriting::Raw);
        found.raw_quote = found.quote_of_all().filter(|_| is_call && !has_quotes);
        let in_python = has_bracket && found.are_assigned() && (has_quotes || is_listed);
        found.in_python = in_python || found.raw_quote.is_some();
        Some(found)
    }
}

/// Where the parts of a call are in an object of JSON, if it is one.
pub(super) fn keys_of(call: &Node) -> Option<CallKeys<'_>> {
    let Node::Object(entries, _) = call else {
        return None;
    };
    let holds = |slot| {
        move |node: &Node| match node {
            Node::JsonString(text, _) => text.parts().contains(&Node::Slot(slot)),
            _ => false,
        }
    };
    let (name, name_node) = path(call, &holds(Slot::Name))?;
    let (arguments, body) = path(call, &|node| {
        matches!(within_string(node), Node::Arguments(_))
    })?;
    Some(CallKeys {
        name,
        name_row: within_string(name_node).parts(),
        arguments,
        body: within_string(body),
        arguments_as_text: matches!(body, Node::JsonString(..)),
        id: path(call, &holds(Slot::Id)).map(|(id, _)| id),
        all: entries.iter().map(|entry| entry.key.as_str()).collect(),
        first_text: entries.first().and_then(|entry| match &entry.value {
            Node::Constant(value) => value.as_str(),
            _ => None,
        }),
    })
}

/// What a string holds, or the node itself.
fn within_string(node: &Node) -> &Node {
    match node {
        Node::JsonString(text, _) => text,
        node => node,
    }
}

/// The keys that lead to the first value of a kind, and the value.
fn path<'a>(node: &'a Node, is: &dyn Fn(&Node) -> bool) -> Option<(Vec<&'a str>, &'a Node)> {
    let Node::Object(entries, _) = node else {
        return None;
    };
    entries.iter().find_map(|entry| {
        let (rest, found) = match is(&entry.value) {
            true => (Vec::new(), &entry.value),
            false => path(&entry.value, is)?,
        };
        Some(([vec![entry.key.as_str()], rest].concat(), found))
    })
}

/// Where in a JSON object the parts of a call are.
#[derive(Debug, Clone)]
pub(crate) struct CallKeys<'a> {
    /// The keys that lead to the name.
    pub(crate) name: Vec<&'a str>,
    /// The text that the name stands in.
    pub(crate) name_row: &'a [Node],
    /// The keys that lead to the arguments.
    pub(crate) arguments: Vec<&'a str>,
    /// The arguments themselves.
    pub(crate) body: &'a Node,
    /// Whether they are a string that holds JSON.
    pub(crate) arguments_as_text: bool,
    /// The keys that lead to the id.
    pub(crate) id: Option<Vec<&'a str>>,
    /// All keys of the object, in their order.
    pub(crate) all: Vec<&'a str>,
    /// What always stands under the first of them, if it is a text.
    pub(crate) first_text: Option<&'a str>,
}

/// Adds an item, unless it is there.
fn push_new<T: PartialEq>(all: &mut Vec<T>, item: T) {
    if !all.contains(&item) {
        all.push(item);
    }
}

/// Arguments that stand one by one.
#[derive(Debug, Clone, Default)]
pub(crate) struct SingleArguments<'a> {
    /// The texts before a key: where they show the value's type, there are several, that before texts first.
    pub(crate) opens: Vec<Row>,
    /// The texts between key and value: where they show the value's type, there are several.
    pub(crate) between: Vec<Row>,
    /// What stands after a value, as before a key; some formats name the key there once more.
    pub(crate) closes: Vec<Row>,
    /// What stands between two arguments.
    pub(crate) separator: Row,
    /// How values are written, those of some types one way and those of others another.
    forms: Vec<&'a ValueForm>,
    /// Whether they stand as in a call of Python.
    pub(crate) in_python: bool,
    /// The quote that stands around all values of a call in Python, as they are: `f(a="x", b="7")`. A model that knows Python writes
    /// values of other types without.
    pub(crate) raw_quote: Option<char>,
}

impl SingleArguments<'_> {
    /// What stands before the key of a text.
    pub(crate) fn open(&self) -> &str {
        self.opens.first().map_or("", |open| open)
    }

    /// What stands behind a text.
    pub(crate) fn close(&self) -> &str {
        self.closes.first().map_or("", |close| close)
    }

    /// What closes a key, where values have an opener of their own: `</key>` in `<key>a</key><value>7</value>`.
    pub(crate) fn key_close(&self) -> Option<&str> {
        let mut between = markers::markers(self.first_between());
        let close = between.next().filter(|close| markers::says_end(close))?;
        let is_one_of_two = self.between.len() == 1 && between.next().is_some();
        is_one_of_two.then_some(close)
    }

    /// What stands between key and value, before a text.
    pub(crate) fn first_between(&self) -> &str {
        self.between.first().map_or("", |between| between)
    }

    /// Whether what closes an argument names its key.
    pub(crate) fn close_names_key(&self) -> bool {
        let close = self.closes.first();
        close.is_some_and(|close| close.has(Slot::Key))
    }

    /// How values of a type are written, if it is known.
    pub(crate) fn written(&self, kind: ValueType) -> Option<&ValueWriting> {
        let form = self.forms.iter().find(|form| form.types.contains(&kind))?;
        Some(&form.writing)
    }

    /// Whether all values are JSON, texts too.
    pub(crate) fn has_json_texts(&self) -> bool {
        matches!(self.written(ValueType::String), Some(ValueWriting::Json(_)))
    }

    /// What is written around texts and around no other value, or around texts with signs in them that
    /// markers have.
    pub(crate) fn wrapping(&self) -> Option<(&str, &str)> {
        match self.written(ValueType::String)? {
            ValueWriting::Wrapped { open, close, .. } => Some((open, close)),
            _ => None,
        }
    }

    /// What is written around all texts, and around no other value.
    pub(crate) fn quotes(&self) -> Option<(&str, &str)> {
        match self.written(ValueType::String)? {
            ValueWriting::Wrapped {
                open,
                close,
                always: true,
            } if !open.is_empty() && !close.is_empty() => Some((open, close)),
            _ => None,
        }
    }

    /// The quotes around all texts, those in lists and objects, too.
    pub(crate) fn nested_quotes(&self) -> Option<(&str, &str)> {
        let mut kinds = [ValueType::Array, ValueType::Object].into_iter();
        let is_nested = |kind| match self.written(kind) {
            Some(ValueWriting::Json(dialect)) => dialect.string_delimiters.is_some(),
            _ => false,
        };
        self.quotes().filter(|_| kinds.any(is_nested))
    }

    /// Whether lists are written as Python prints them, and texts are not JSON: no parser reads both.
    pub(crate) fn has_python_lists(&self) -> bool {
        let mut kinds = [ValueType::Array, ValueType::Object].into_iter();
        let is_python = |kind| self.written(kind) == Some(&ValueWriting::Python);
        kinds.any(is_python) && !self.has_json_texts()
    }

    /// The quote around every value, whatever its type, if each is a key, `=` and such a value.
    fn quote_of_all(&self) -> Option<char> {
        let quote = self.close().chars().next().filter(|c| "\"'".contains(*c))?;
        let closes = |text: &Row| text.trim().strip_prefix(quote) == Some("");
        let opens = |text: &Row| {
            let before = text.trim().strip_suffix(quote);
            before.is_some_and(|before| before.trim_end() == "=")
        };
        let is_quoted = self.closes.iter().all(closes) && self.between.iter().all(opens);
        (self.open().is_empty() && is_quoted).then_some(quote)
    }

    /// Whether each is a key, `=` and a value, and nothing stands around it.
    fn are_assigned(&self) -> bool {
        let is_assigned = self
            .between
            .iter()
            .all(|text| text.trim_end().ends_with('='));
        self.open().is_empty() && self.close().is_empty() && is_assigned
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::Findings;
    use crate::analysis::tests::{found, template};
    use crate::markers::{self, KEY_SLOT};

    /// What is found of a template that writes each call so.
    fn findings(each: &str) -> Findings {
        let jinja = format!(
            "{{{{ m.content }}}}{{% for c in m.tool_calls %}}{{% set f = c.function %}}{each}{{% endfor %}}"
        );
        found(&template(&jinja))
    }

    /// What is read off the calls of a template: a line for each part that it has.
    fn parts(each: &str) -> String {
        let findings = findings(each);
        let parts = findings.call_parts().expect("there are calls");
        let mut all = vec![format!("first {:?}", parts.first_text())];
        if let Some(keys) = parts.keys() {
            all.push(format!("name {}", keys.name.join(".")));
            all.push(format!("arguments {}", keys.arguments.join(".")));
            all.extend(keys.arguments_as_text.then(|| "as text".to_owned()));
            all.extend(keys.id.map(|id| format!("id {}", id.join("."))));
            all.extend(keys.first_text.map(|text| format!("is {text}")));
        }
        if let Some(arguments) = parts.single_arguments() {
            all.push(format!("key behind {:?}", arguments.open()));
            all.push(format!("value behind {:?}", arguments.first_between()));
            all.push(format!(
                "up to {:?}",
                arguments.close().replace(KEY_SLOT, "KEY")
            ));
            all.extend(arguments.in_python.then(|| "in Python".to_owned()));
            all.extend(arguments.has_json_texts().then(|| "as JSON".to_owned()));
            let quotes = arguments.quotes().or_else(|| arguments.wrapping());
            all.extend(quotes.map(|(open, close)| format!("in {open}{close}")));
        }
        for (is, what) in [
            (parts.is_list(), "list"),
            (parts.is_array(), "array"),
            (parts.is_bare_object(), "bare"),
            (parts.around_python_list().is_some(), "list of Python"),
            (!parts.several, "one"),
        ] {
            all.extend(is.then(|| what.to_owned()));
        }
        all.join(", ")
    }

    #[test]
    fn the_parts_of_calls_are_read_off_their_tree() {
        for (each, expected) in [
            (
                "<call>{{ f | tojson }}</call>",
                "first \"<call>\", name name, arguments arguments",
            ),
            (
                "<call>{{ {'kind': 'call', 'of': {'name': f.name, 'args': f.arguments}} | tojson }}</call>",
                "first \"<call>\", name of.name, arguments of.args, is call",
            ),
            (
                "<call>{{ {'name': f.name, 'args': f.arguments | tojson, 'id': c.id} | tojson }}</call>",
                "first \"<call>\", name name, arguments args, as text, id id",
            ),
            (
                "{{ f | tojson }};",
                "first \"\", name name, arguments arguments, bare",
            ),
            (
                "<{{ f.name }}>{% for k, v in f.arguments.items() %}<{{ k }}>{{ v }}</{{ k }}>{% endfor %}</{{ f.name }}>",
                "first \"<\", key behind \"<\", value behind \">\", up to \"</KEY>\"",
            ),
            (
                "<do {{ f.name }}>{% for k, v in f.arguments.items() %}<arg {{ k }}>{{ v | tojson }}</arg>{% endfor %}</do>",
                "first \"<do \", key behind \"<arg \", value behind \">\", up to \"</arg>\", as JSON",
            ),
            (
                "{{ '[' if loop.first }}{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}\
                 {{ ', ' if not loop.last }}{% endfor %}){{ ']' if loop.last else ', ' }}",
                "first \"\", key behind \"\", value behind \"=\", up to \"\", in Python, as JSON, list, list of Python",
            ),
            // `:=` makes no list of Python's, `:` no call, and a text without quotes ends nowhere.
            (
                "{{ '[' if loop.first }}{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}:={{ v | tojson }}\
                 {{ ', ' if not loop.last }}{% endfor %}){{ ']' if loop.last else ', ' }}",
                "first \"\", key behind \"\", value behind \":=\", up to \"\", in Python, as JSON, list",
            ),
            (
                "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}: {{ v | tojson }}\
                 {{ ', ' if not loop.last }}{% endfor %});",
                "first \"\", key behind \"\", value behind \": \", up to \"\", as JSON",
            ),
            (
                "{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v }}\
                 {{ ', ' if not loop.last }}{% endfor %});",
                "first \"\", key behind \"\", value behind \"=\", up to \"\"",
            ),
            // In a list of calls, values that are printed as they are come from Python.
            (
                "{{ '[' if loop.first }}{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v }}\
                 {{ ', ' if not loop.last }}{% endfor %}){{ ']' if loop.last else ', ' }}",
                "first \"\", key behind \"\", value behind \"=\", up to \"\", in Python, list, list of Python",
            ),
            // It has the arguments of Python, and not its bracket.
            (
                "<{{ f.name }} {% for k, v in f.arguments.items() %}{{ k }}={{ v | tojson }}\
                 {{ ' ' if not loop.last }}{% endfor %}>",
                "first \"<\", key behind \"\", value behind \"=\", up to \"\", as JSON",
            ),
            (
                "<{{ f.name }}{% for k, v in f.arguments.items() %} {{ k }}={{ v | tojson }}{% endfor %}/>",
                "first \"<\", key behind \" \", value behind \"=\", up to \"\", as JSON",
            ),
            (
                "<do {{ f.name }}>{% for k, v in f.arguments.items() %}<{{ k }}>{{ '<q>' + v + '<q>' if v is string else v | tojson }}</>{% endfor %}</do>",
                "first \"<do \", key behind \"<\", value behind \">\", up to \"</>\", in <q><q>",
            ),
        ] {
            assert_eq!(parts(each), expected, "{each}");
        }
    }

    #[test]
    fn tags_that_may_close_themselves_have_a_name_in_them() {
        for (each, expected) in [
            (
                r#"<do name="{{ f.name }}">{{ f.arguments | tojson }}</do>"#,
                Some(r#"<do name="NAME""#),
            ),
            // The name would take the slash along.
            ("<do={{ f.name }}>{{ f.arguments | tojson }}</do>", None),
            (
                r#"<do><n a="{{ f.name }}">{{ f.arguments | tojson }}</do>"#,
                Some(r#"<do><n a="NAME""#),
            ),
            ("<do>{{ f.name }} {{ f.arguments | tojson }}</do>", None),
            (
                r#"<do id="{{ c.id }}">{{ f.arguments | tojson }}<by>{{ f.name }}</by>"#,
                None,
            ),
        ] {
            let findings = findings(each);
            let calls = findings.call_parts().expect("there are calls");
            let tag = calls.unclosed_tag();
            let tag = tag.map(|tag| tag.replace(markers::NAME_SLOT, "NAME"));
            assert_eq!(tag.as_deref(), expected, "{each}");
        }
    }

    #[test]
    fn a_word_may_stand_before_each_name() {
        for (each, expected) in [
            (
                "<do>tools.{{ f.name }}{{ f.arguments | tojson }}</do>",
                Some("tools."),
            ),
            ("<do>{{ f.name }}{{ f.arguments | tojson }}</do>", None),
            // Without it, nothing would tell what the name is.
            ("tools.{{ f.name }}{{ f.arguments | tojson }}</do>", None),
            ("<do>tool {{ f.name }}{{ f.arguments | tojson }}</do>", None),
        ] {
            let findings = findings(each);
            let calls = findings.call_parts().expect("there are calls");
            assert_eq!(calls.name_prefix(), expected, "{each}");
        }
    }

    #[test]
    fn what_stands_before_its_closer_tells_where_a_call_ends() {
        let tagged = |arguments: &str, close: &str| {
            format!(
                "<do {{{{ f.name }}}}>{{% for k, v in f.arguments.items() %}}{arguments}{{% endfor %}}{close}"
            )
        };
        for (each, behind_bracket, behind_argument) in [
            ("<do>{{ f | tojson }}</do>".to_owned(), true, false),
            ("<do>{{ f | tojson }}#".to_owned(), true, false),
            ("[do]{{ f | tojson }}[/do]".to_owned(), true, false),
            ("<do>{{ f | tojson }}}</do>".to_owned(), false, false),
            ("<do>{{ f | tojson }},".to_owned(), false, false),
            (tagged("<arg {{ k }}>{{ v }}</arg>", "</do>"), false, true),
            // What closes an argument closes no call by itself.
            (tagged("<arg {{ k }}>{{ v }}</>", "</>"), false, false),
            (tagged("@{{ k }}: {{ v }}\n", "</do>"), false, false),
        ] {
            let findings = findings(&each);
            let calls = findings.call_parts().expect("there are calls");
            let found = calls.closes_behind_bracket(calls.close.trim());
            assert_eq!(found, behind_bracket, "{each}");
            assert_eq!(calls.closes_behind_argument(), behind_argument, "{each}");
        }
    }
}

//! Workflow commands of GitHub: what is wrong is shown at its line in a pull request.

/// A command that shows a message at a place of a file. `level` is `error`, `warning` or `notice`.
pub(crate) fn command(
    level: &str,
    file: &str,
    line: Option<usize>,
    column: Option<usize>,
    title: &str,
    message: &str,
) -> String {
    let mut properties = vec![format!("file={}", escaped_property(file))];
    properties.extend(line.map(|line| format!("line={line}")));
    properties.extend(column.map(|column| format!("col={column}")));
    properties.push(format!("title={}", escaped_property(title)));
    let properties = properties.join(",");
    format!("::{level} {properties}::{}\n", escaped(message))
}

/// A command is one line, and `%` stands before what is written otherwise.
fn escaped(text: &str) -> String {
    text.replace('%', "%25")
        .replace('\r', "%0D")
        .replace('\n', "%0A")
}

/// In properties, what divides them is written otherwise, too.
fn escaped_property(text: &str) -> String {
    escaped(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_end_a_message_or_a_property_is_escaped() {
        let told = command(
            "warning",
            "a,b:c%.json",
            Some(3),
            Some(14),
            "U001: one, two",
            "100 %: a,\r\nb::c",
        );
        assert_eq!(
            told,
            "::warning file=a%2Cb%3Ac%25.json,line=3,col=14,title=U001%3A one%2C two\
             ::100 %25: a,%0D%0Ab::c\n"
        );
    }

    #[test]
    fn a_place_that_is_not_known_is_left_out() {
        let told = command("error", "a.json", None, None, "title", "text");
        assert_eq!(told, "::error file=a.json,title=title::text\n");
    }
}

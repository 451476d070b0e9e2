//! How far the lists of a message are what was expected. An item is compared once, when it comes: a
//! message may have thousands of calls, and is looked at in every frame.

use unjinja::{Event, Object, ResponseTemplate, Value};

/// How many items of the lists there are, and how many of them agree.
#[derive(Debug, Default)]
pub(super) struct Agreement {
    expected: Object,
    /// For each field.
    counts: Vec<Count>,
}

#[derive(Debug, Default, Clone)]
struct Count {
    items: usize,
    /// How many of them, from the first on, are as expected.
    agree: usize,
}

impl Agreement {
    pub(super) fn new(template: &ResponseTemplate, expected: Object) -> Agreement {
        let mut agreement = Agreement {
            counts: vec![Count::default(); template.fields().len()],
            expected,
        };
        for (number, field) in template.fields().iter().enumerate() {
            let defaults = template.defaults().get(field.name());
            for item in defaults.and_then(Value::as_array).into_iter().flatten() {
                agreement.item(number, field.name(), item);
            }
        }
        agreement
    }

    pub(super) fn take(&mut self, template: &ResponseTemplate, event: &Event<'_>) {
        let Event::Close { field, value, .. } = event else {
            return;
        };
        let mut fields = template.fields().iter();
        let number = fields.position(|known| known.name() == *field);
        let is_list = |number: &usize| {
            let field = &template.fields()[*number];
            field.repeats() && field.join().is_none()
        };
        if let Some(number) = number.filter(is_list) {
            self.item(number, field, value);
        }
    }

    fn item(&mut self, number: usize, field: &str, value: &Value) {
        let count = &mut self.counts[number];
        let list = self.expected.get(field).and_then(Value::as_array);
        let expected = list.and_then(|list| list.get(count.items));
        if count.items == count.agree && expected.is_some_and(|other| value.total_eq(other)) {
            count.agree += 1;
        }
        count.items += 1;
    }

    /// How many items of a field's list are as expected, from the first on.
    pub(super) fn of_field(&self, number: usize) -> usize {
        self.counts.get(number).map_or(0, |count| count.agree)
    }
}

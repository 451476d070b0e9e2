//! Chat templates that would take all memory, all time, or the whole stack: each kind of value that they
//! can make, and each thing that they can do with it. All come to an end, and none otherwise than by
//! rendering or with an error of ours.
use std::sync::atomic::{AtomicUsize, Ordering};

use unjinja::chat_template::{ChatTemplate, RenderInput};
use unjinja::json;

/// Values as the attribute `v` of the namespace `ns`, made so that something is exhausted by them.
const VALUES: &[(&str, &str)] = &[
    (
        "deep list",
        "{% for i in range(40000) %}{% set ns.v=[ns.v] %}{% endfor %}",
    ),
    (
        "deep tuple",
        "{% for i in range(40000) %}{% set ns.v=(ns.v,) %}{% endfor %}",
    ),
    (
        "deep mapping",
        "{% for i in range(40000) %}{% set ns.v={'a':ns.v} %}{% endfor %}",
    ),
    (
        "deep dict",
        "{% for i in range(40000) %}{% set ns.v=dict(a=ns.v) %}{% endfor %}",
    ),
    (
        "deep items",
        "{% for i in range(40000) %}{% set ns.v={'a':ns.v}.items() %}{% endfor %}",
    ),
    (
        "deep keys",
        "{% for i in range(40000) %}{% set ns.v={(ns.v,):1}|list|first %}{% endfor %}",
    ),
    (
        "deep batches",
        "{% for i in range(40000) %}{% set ns.v=[ns.v]|batch(1)|list %}{% endfor %}",
    ),
    (
        "deep groups",
        "{% for i in range(40000) %}{% set ns.v=[{'k':ns.v}]|groupby('k')|list %}{% endfor %}",
    ),
    (
        "deep zip",
        "{% for i in range(40000) %}{% set ns.v=[ns.v]|zip([ns.v]) %}{% endfor %}",
    ),
    (
        "deep chain",
        "{% for i in range(40000) %}{% set ns.v={'a':ns.v}|chain({'b':1}) %}{% endfor %}",
    ),
    (
        "deep joiner",
        "{% for i in range(40000) %}{% set ns.v=joiner(ns.v) %}{% endfor %}",
    ),
    (
        "deep cycler",
        "{% for i in range(40000) %}{% set ns.v=cycler(ns.v) %}{% endfor %}",
    ),
    (
        "deep method",
        "{% for i in range(40000) %}{% set ns.v={'a':ns.v}.items %}{% endfor %}",
    ),
    (
        "deep namespace",
        "{% for i in range(40000) %}{% set ns.v=namespace(a=ns.v) %}{% endfor %}",
    ),
    (
        "chain of namespaces",
        "{% set ns.first=namespace() %}{% set ns.v=ns.first %}{% for i in range(40000) %}\
        {% set last=ns.v %}{% set last.a=namespace() %}{% set ns.v=last.a %}{% endfor %}{% set ns.v=ns.first %}",
    ),
    (
        "chain of lists",
        "{% set ns.first=[] %}{% set ns.v=ns.first %}{% for i in range(40000) %}{% set next=[] %}\
        {% set _=ns.v.append(next) %}{% set ns.v=next %}{% endfor %}{% set ns.v=ns.first %}",
    ),
    (
        "list in itself",
        "{% set ns.v=[1] %}{% set _=ns.v.append(ns.v) %}",
    ),
    ("namespace in itself", "{% set ns.v=ns %}"),
    (
        "shared lists",
        "{% for i in range(60) %}{% set ns.v=[ns.v,ns.v] %}{% endfor %}",
    ),
    (
        "shared tuples",
        "{% for i in range(60) %}{% set ns.v=(ns.v,ns.v) %}{% endfor %}",
    ),
    (
        "shared mappings",
        "{% for i in range(60) %}{% set ns.v={'a':ns.v,'b':ns.v} %}{% endfor %}",
    ),
    (
        "shared items",
        "{% for i in range(60) %}{% set ns.v={'a':ns.v,'b':ns.v}.items() %}{% endfor %}",
    ),
    (
        "long text",
        "{% set ns.v='xY<' %}{% for i in range(22) %}{% set ns.v=ns.v~ns.v %}{% endfor %}",
    ),
    (
        "long lines",
        "{% set ns.v='a\\n ' %}{% for i in range(22) %}{% set ns.v=ns.v~ns.v %}{% endfor %}",
    ),
    (
        "long texts",
        "{% set ns.v='xY<' %}{% for i in range(20) %}{% set ns.v=ns.v~ns.v %}{% endfor %}\
        {% set ns.v=[ns.v]*100000 %}",
    ),
    ("long list", "{% set ns.v=range(100000)|list %}"),
    ("long lists", "{% set ns.v=[range(100000)|list]*100000 %}"),
    (
        "long mapping",
        "{% set ns.v=dict(range(100000)|zip(range(100000))) %}",
    ),
    (
        "long JSON",
        "{% set ns.v='[]' %}{% for i in range(22) %}{% set ns.v=ns.v~',[]' %}{% set ns.v=ns.v~','~ns.v %}\
        {% endfor %}{% set ns.v='['~ns.v~']' %}",
    ),
];

/// What is done with it.
const USES: &[&str] = &[
    "{{ v }}",
    "{% for i in range(100000) %}{{ v }}{% endfor %}",
    "{{ v ~ v }}{{ v|string }}",
    "{{ [v, v, v]|string|length }}{{ [v]|pprint }}",
    "{{ v|tojson }}",
    "{{ v|tojson(indent=900) }}",
    "{{ [v, 1, 2]|tojson(separators=('x'*9000, v)) }}",
    "{{ range(100000)|list|tojson(separators=('x'*1000000, ':')) }}",
    "{{ v == ns.copy }}{{ v != v }}",
    "{{ v < ns.copy }}",
    "{{ v == ns.copy == v < v }}",
    "{{ v in [ns.copy, v] }}{{ 1 in v }}",
    "{% for i in range(100000) %}{{ 'yx' in v }}{% endfor %}",
    "{{ {v: 1} }}{{ {(v, v): 1}[(v, v)] }}",
    "{{ {1: 2}[v] }}{{ {1: 2}.get(v) }}{{ {}[(v, 1)] }}",
    "{{ dict([(v, 1)]) }}{{ dict.fromkeys([v]) }}",
    "{{ [v, ns.copy, v]|unique|list|length }}",
    "{{ v|sort|length }}",
    "{{ [v, ns.copy]|sort|length }}{{ [v, ns.copy]|max }}",
    "{{ [{'a': v}, {'a': ns.copy}]|groupby('a')|length }}",
    "{{ v|list|length }}{{ v|reverse|list|length }}",
    "{{ v|map('upper')|list|length }}",
    "{{ v|map('string')|map('title')|map('trim')|list|length }}",
    "{{ v|map('sum')|list|length }}",
    "{{ v|map('list')|map('length')|list|sum }}",
    "{{ v|map('tojson')|list|length }}",
    "{{ v|map('from_json')|list|length }}",
    "{{ v|select('in', v)|list|length }}",
    "{{ v|select('eq', ns.copy)|list|length }}",
    "{{ v|reject('upper')|select('ge', 5)|list|length }}",
    "{{ v|selectattr('a')|list|length }}",
    "{{ v|join(v) }}",
    "{{ v|join('x'*100000) }}",
    "{{ v|batch(2, v)|list|length }}{{ v|slice(99999, v)|list|length }}",
    "{{ v|items|list|length }}{{ v|dictsort|length }}",
    "{{ v|chain(v, v)|list|length }}{{ v|zip(v)|list|length }}",
    "{{ '%s' % v }}",
    "{{ '%r%a' % (v, v) }}",
    "{{ '{}{}'.format(v, v) }}",
    "{{ ('%s'*1000) % ((v,)*1000) }}",
    "{{ '%50000.50000f' % 1.5 }}{{ ('%50000d'*100000) % ((1,)*100000) }}",
    "{{ dict(a=v, b=namespace(c=v)) }}",
    "{% for i in range(100000) %}{% set x = v * 9 %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v + v %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v[::-1] %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v|first %}{% set y = v|last %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = cycler(*v) %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = dict(**v) %}{% endfor %}",
    "{% for i in range(100000) %}{% for x in v|select %}{% break %}{% endfor %}{% endfor %}",
    "{% for i in range(100000) %}{% set x %}{{ v }}{% endset %}{% endfor %}",
    "{% for x in v %}{% for y in v %}{{ x }}{% endfor %}{% endfor %}",
    "{% macro m(a) %}{{ a }}{{ caller() }}{% endmacro %}{% for x in v %}{% call m(v) %}{{ v }}{% endcall %}{% endfor %}",
    "{{ v.split('x')|length }}{{ v.rsplit()|length }}{{ v.splitlines()|length }}{{ v|lines|length }}",
    "{% for i in range(100000) %}{% set x = v.split()|length %}{% endfor %}",
    "{{ v.replace('x', v) }}{{ v.translate({120: v}) }}",
    "{{ v.join(v) }}{{ v.join([v]*100000) }}",
    "{{ v.strip(v) }}{{ v.partition(v) }}{{ v.casefold() }}{{ v.title() }}",
    "{% for i in range(100000) %}{% set x = v.upper() %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v.find('nothing') %}{% set x = v.count('z') %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v.index(1) %}{% endfor %}",
    "{% for i in range(100000) %}{% set x = v|int %}{% set x = v|float %}{% endfor %}",
    "{{ v|e|e|e }}{{ v|safe + v }}{{ v|urlencode }}{{ v|striptags }}",
    "{{ v|indent(900) }}{{ v|wordcount }}{{ v|truncate(9) }}{{ v|center(99999999) }}",
    "{{ {'a': v}|xmlattr }}{{ {v: v}|urlencode }}",
    "{{ raise_exception(v) }}",
    "{{ v|from_json|length }}",
    "{% set l = [] %}{% for i in range(100000) %}{% set _ = l.insert(0, v) %}{% endfor %}{{ l }}",
    "{% set l = [] %}{% for i in range(100000) %}{% set _ = l.extend(v) %}{% endfor %}{{ l == l }}",
];

fn attack(make: &str, with: &str) {
    let jinja = format!(
        "{{% set ns = namespace(v=1, copy=1) %}}{make}{{% set made = ns.v %}}{{% set ns.v = 1 %}}{make}\
         {{% set ns.copy = made %}}{{% set v = ns.v %}}{with}"
    );
    let input = RenderInput {
        messages: json::read(r#"[{"role": "user", "content": "Hi"}]"#).unwrap(),
        ..RenderInput::default()
    };
    let _text_or_error = ChatTemplate::from_jinja(&jinja).render(&input);
}

/// Runs something for each index, on all cores.
fn for_each(count: usize, run: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= count {
                        return;
                    }
                    run(index);
                }
            });
        }
    });
}

/// Tries each of so many combinations.
fn attack_with_each(step: usize) {
    for_each(VALUES.len() * USES.len() / step, |index| {
        let index = index * step;
        let (_, make) = VALUES[index / USES.len()];
        attack(make, USES[index % USES.len()]);
    });
}

#[test]
fn whatever_is_made_and_done_comes_to_an_end() {
    attack_with_each(11);
}

#[test]
#[ignore = "takes minutes"]
fn whatever_is_made_and_done_comes_to_an_end_in_all_combinations() {
    attack_with_each(1);
}

/// Templates that nest too deeply or calculate too much are refused, for that reason.
#[test]
fn what_is_exhausted_is_named() {
    for (name, make) in VALUES {
        let reason = match name {
            _ if ["deep joiner", "deep cycler", "deep method"].contains(name) => continue,
            _ if name.starts_with("deep") => "nests values too deeply",
            _ => continue,
        };
        let jinja = format!("{{% set ns = namespace(v=1) %}}{make}ok");
        let error = ChatTemplate::from_jinja(&jinja)
            .render(&RenderInput::default())
            .expect_err(name);
        assert!(error.message().contains(reason), "{name}: {error}");
    }
    for (jinja, reason) in [
        (
            "{% if false %}{{ 'x'*100000000 }}{% endif %}",
            "constants make more than",
        ),
        (&" ".repeat(3 << 20), "longer than 2 MiB"),
        (
            "{{ range(100000)|list|tojson(separators=(range(200000)|join, ':')) }}",
            "at most",
        ),
        (
            "{{ range(99999)|list|tojson(separators=(range(99999)|join, ':')) }}",
            "more than 16 MiB",
        ),
    ] {
        let error = ChatTemplate::from_jinja(jinja)
            .render(&RenderInput::default())
            .expect_err(reason);
        assert!(error.message().contains(reason), "{reason}: {error}");
    }
}

/// What a template names like one of our functions does not stand in front of it.
#[test]
fn templates_cannot_take_the_place_of_what_counts() {
    let jinja = "{% set __tick = dict %}{% set __made = dict %}{% set __add = joiner() %}{{ 1 + 2 }}{{ [1] }}\
        {% for x in [1] %}{{ x }}{% endfor %}";
    let rendering = ChatTemplate::from_jinja(jinja).render(&RenderInput::default());
    assert_eq!(rendering.unwrap().text, "3[1]1");
}

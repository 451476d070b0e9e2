//! Batches in Parquet.

use std::fs::File;
use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, DictionaryArray, Int32Array, Int64Array,
    LargeStringArray, RecordBatch, StringArray, StringViewArray, UInt8Array,
};
use arrow_schema::Schema;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::*;

fn write(path: &Path, columns: Vec<(&str, ArrayRef)>) {
    let record = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, array)| (name, array, true)),
    );
    let record = record.expect("a batch");
    let file = File::create(path).expect("is made");
    let level = ZstdLevel::try_new(1).expect("a level");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(50_000))
        .build();
    let mut writer =
        ArrowWriter::try_new(file, record.schema(), Some(properties)).expect("a writer");
    writer.write(&record).expect("is written");
    writer.close().expect("is closed");
}

fn texts<const N: usize>(texts: [Option<&str>; N]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

/// All rows of a file, each with its columns.
fn rows(path: &Path) -> (Schema, Vec<String>) {
    let file = File::open(path).expect("is there");
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).expect("is Parquet");
    let schema = reader.schema().as_ref().clone();
    let mut rows = Vec::new();
    for record in reader.build().expect("a reader") {
        let record = record.expect("rows");
        for row in 0..record.num_rows() {
            let cells = record.columns().iter().map(|array| match array {
                array if array.is_null(row) => "-".to_owned(),
                array => match array.as_string_opt::<i32>() {
                    Some(texts) => texts.value(row).to_owned(),
                    None => match array.as_primitive_opt::<arrow_array::types::Int64Type>() {
                        Some(numbers) => numbers.value(row).to_string(),
                        None => format!("{:?}", array.slice(row, 1)),
                    },
                },
            });
            rows.push(cells.collect::<Vec<_>>().join(" | "));
        }
    }
    (schema, rows)
}

/// What comes of a file with these columns.
fn answered(columns: Vec<(&str, ArrayRef)>, arguments: &str) -> String {
    let folder = place();
    let folder = folder.path();
    write(&folder.join("log.parquet"), columns);
    let arguments =
        format!("parse -t t.json --format parquet log.parquet -o out.parquet {arguments}");
    let said = unjinja(folder, &arguments, "");
    if !folder.join("out.parquet").exists() {
        return said;
    }
    let (schema, rows) = rows(&folder.join("out.parquet"));
    let names: Vec<&str> = schema
        .fields()
        .iter()
        .map(|field| field.name().as_str())
        .collect();
    format!("{}\n{}\n{said}", names.join(" | "), rows.join("\n"))
}

#[test]
fn each_row_has_its_message_or_its_error() {
    let columns = vec![
        (
            "request",
            Arc::new(Int64Array::from(vec![7, 8, 9, 10])) as ArrayRef,
        ),
        ("user", texts([Some("ann"), None, Some("bo"), Some("cy")])),
        ("prompt", texts([Some("<bot><think>"), None, None, None])),
        (
            "output",
            texts([
                Some("Hm.</think>Hello<end>"),
                Some("<n>many</n>"),
                Some("<n>3</n>"),
                None,
            ]),
        ),
    ];
    assert_snapshot!(answered(columns.clone(), COLUMNS), @r##"
    id | user | message | error | error_at
    7 | ann | {"thinking":"Hm.","content":"Hello"} | - | -
    8 | - | - | field `n`, bytes 3 to 7 of the text since the anchor: "many" is not a whole number | 0
    9 | bo | {"n":3} | - | -
    10 | cy | - | there are neither `chunks` nor `text` | 0
    exit 0
    "##);
    assert_snapshot!(answered(columns, &format!("{COLUMNS} --openai")), @r##"
    id | user | completion | error | error_at
    7 | ann | {"id":"7","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"Hello","reasoning_content":"Hm."},"finish_reason":"stop"}]} | - | -
    8 | - | {"id":"8","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":"<n>many</n>"},"finish_reason":"stop"}]} | - | -
    9 | bo | {"id":"9","object":"chat.completion","created":0,"model":"","choices":[{"index":0,"message":{"role":"assistant","content":null,"n":3},"finish_reason":"stop"}]} | - | -
    10 | cy | - | there are neither `chunks` nor `text` | 0
    ! warning: log.parquet:2: a region of `n` could not be parsed; `--on-malformed event --events` without `--openai` shows why
    exit 0
    "##);
}

#[test]
fn rows_have_what_lines_have() {
    let template = r#"{"start_anchor": "<bot>", "fields": {"tool_calls": {"open_pattern": "<(?P<name>[a-z]+)>", "close": "</>", "content": "kv-lines", "transform": {"function": {"name": "{name}", "arguments": "{content}"}}}}}"#;
    let tools =
        r#"[{"name": "wait", "parameters": {"properties": {"seconds": {"type": "integer"}}}}]"#;
    let columns = vec![
        (
            "text",
            texts([
                Some("<wait>seconds: 3</>"),
                Some("<wait>seconds: 3</>"),
                Some("Hi"),
                Some("Hi"),
            ]),
        ),
        ("tools", texts([Some(tools), None, Some("[{"), None])),
        (
            "response_template",
            texts([Some(template), Some(template), None, Some("{}")]),
        ),
    ];
    assert_snapshot!(answered(columns, ""), @r##"
    message | error | error_at
    {"tool_calls":{"function":{"name":"wait","arguments":{"seconds":3}}}} | - | -
    {"tool_calls":{"function":{"name":"wait","arguments":{"seconds":"3"}}}} | - | -
    - | `tools`: this is not JSON: expected a key in double quotes at line 1, column 3, but the text ends there | -
    - | there are no `fields`: name at least one, such as `"content": {}`
    there is no `start_anchor`: give the text that begins the assistant's message in a prompt, or a `start_anchor_pattern` | -
    exit 0
    "##);
}

#[test]
fn texts_and_ids_have_many_types() {
    let output = Some("<n>3</n>");
    let dictionary: DictionaryArray<Int32Type> = [output, None, output].into_iter().collect();
    let bytes: [Option<&[u8]>; 3] = [Some(b"<n>3</n>"), None, Some(b"<n>\xff")];
    let arrays: [(&str, ArrayRef); 4] = [
        (
            "views",
            Arc::new(StringViewArray::from(vec![output, None, output])),
        ),
        (
            "large",
            Arc::new(LargeStringArray::from(vec![output, None, output])),
        ),
        ("dictionary", Arc::new(dictionary)),
        ("bytes", Arc::new(BinaryArray::from_opt_vec(bytes.to_vec()))),
    ];
    let ids: [ArrayRef; 4] = [
        Arc::new(UInt8Array::from(vec![1, 2, 3])),
        texts([Some("a"), None, Some("c")]),
        Arc::new(Int32Array::from(vec![-1, 2, 3])),
        // Ids of other types are kept, though completions can't go by them.
        Arc::new(BooleanArray::from(vec![true, false, true])),
    ];
    let all: Vec<String> = arrays
        .into_iter()
        .zip(ids)
        .map(|((name, array), id)| {
            let columns = vec![("id", id), (name, array)];
            answered(columns, &format!("--column text={name}"))
        })
        .collect();
    assert_snapshot!(all.join("\n\n"), @r##"
    id | message | error | error_at
    PrimitiveArray<UInt8>
    [
      1,
    ] | {"n":3} | - | -
    PrimitiveArray<UInt8>
    [
      2,
    ] | - | there are neither `chunks` nor `text` | 0
    PrimitiveArray<UInt8>
    [
      3,
    ] | {"n":3} | - | -
    exit 0

    id | message | error | error_at
    a | {"n":3} | - | -
    - | - | there are neither `chunks` nor `text` | 0
    c | {"n":3} | - | -
    exit 0

    id | message | error | error_at
    PrimitiveArray<Int32>
    [
      -1,
    ] | {"n":3} | - | -
    PrimitiveArray<Int32>
    [
      2,
    ] | - | there are neither `chunks` nor `text` | 0
    PrimitiveArray<Int32>
    [
      3,
    ] | {"n":3} | - | -
    exit 0

    id | message | error | error_at
    BooleanArray
    [
      true,
    ] | {"n":3} | - | -
    BooleanArray
    [
      false,
    ] | - | there are neither `chunks` nor `text` | 0
    BooleanArray
    [
      true,
    ] | - | `text`: byte 3 is not valid UTF-8 | -
    exit 0
    "##);

    let mut chunks = ListBuilder::new(StringBuilder::new());
    for text in ["<n>", "4", "2</n>"] {
        chunks.values().append_value(text);
    }
    chunks.append(true);
    let chunks: ArrayRef = Arc::new(chunks.finish());
    assert_snapshot!(answered(vec![("chunks", chunks)], ""), @r##"
    message | error | error_at
    {"n":42} | - | -
    exit 0
    "##);
}

#[test]
fn what_is_not_there_or_no_text_is_named() {
    let numbers = || Arc::new(Int64Array::from(vec![1])) as ArrayRef;
    assert_snapshot!(answered(vec![("output", texts([Some("Hi")])), ("n", numbers())], ""), @r##"
    ! error: log.parquet: there is neither a column `text` nor `chunks`: name the one with the outputs, as in `--column text=output`; the columns are `output`, `n`
    exit 2
    "##);
    assert_snapshot!(answered(vec![("output", texts([Some("Hi")]))], "--column text=out"), @r##"
    ! error: log.parquet: there is no column `out`: the columns are `output`
    exit 2
    "##);
    assert_snapshot!(answered(vec![("text", texts([Some("Hi")]))], "--keep user"), @r##"
    ! error: log.parquet: there is no column `user`: the columns are `text`
    exit 2
    "##);
    assert_snapshot!(answered(vec![("text", numbers())], ""), @r##"
    ! error: log.parquet: the column `text` can't be read as the text, since it has the type Int64: make it texts, or leave it out with `--column text=`
    exit 2
    "##);
    let columns = || vec![("text", texts([Some("Hi")])), ("tools", numbers())];
    assert_snapshot!(answered(columns(), ""), @r##"
    ! error: log.parquet: the column `tools` can't be read as the tools, since it has the type Int64: write it as JSON in texts, or leave it out with `--column tools=`
    exit 2
    "##);
    assert_snapshot!(answered(columns(), "--column tools="), @r##"
    message | error | error_at
    {"content":"Hi"} | - | -
    exit 0
    "##);
    let none = texts([]);
    assert_snapshot!(answered(vec![("id", Arc::new(Int64Array::from(Vec::<i64>::new()))), ("text", none)], ""), @r##"
    id | message | error | error_at

    exit 0
    "##);
}

#[test]
fn what_is_no_parquet_is_refused_whatever_it_holds() {
    let folder = place();
    let folder = folder.path();
    let path = folder.join("log.parquet");
    let output = "<think>Hm.</think>Hello<end>";
    write(
        &path,
        vec![("text", texts([Some(output), Some("<n>3</n>"), None]))],
    );
    let whole = fs::read(&path).expect("is there");
    let arguments = "parse -t t.json --format parquet log.parquet -o out.parquet --force";
    for text in ["", "no Parquet", "PAR1PAR1"] {
        fs::write(&path, text).expect("is written");
        let said = unjinja(folder, arguments, "");
        assert!(
            said.contains("log.parquet: this is not Parquet: ") && said.ends_with("exit 2"),
            "{said}"
        );
    }
    // Every byte would take long.
    for at in (0..whole.len()).step_by(7) {
        let mut broken = whole.clone();
        broken[at] ^= 0x5a;
        fs::write(&path, broken).expect("is written");
        let said = unjinja(folder, arguments, "");
        assert!(
            ["exit 0", "exit 2"].iter().any(|end| said.ends_with(end)),
            "byte {at}\n{said}"
        );
        assert!(!said.contains("panicked"), "byte {at}\n{said}");
    }
}

#[cfg(unix)]
#[test]
fn the_same_command_goes_on() {
    use super::interrupted::run_within;
    let folder = place();
    let folder = folder.path();
    const ROWS: i64 = 70_000;
    // What can't be compressed begins in the second part.
    let mut seed = 1_u64;
    let mut word = move || {
        seed = seed
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        format!("{seed:016x}")
    };
    let mut text = |id: i64| match id {
        0..65_600 => "a".to_owned(),
        _ => (0..128).map(|_| word()).collect(),
    };
    let outputs: StringArray = (0..ROWS).map(|id| Some(text(id))).collect();
    let columns = vec![
        (
            "id",
            Arc::new(Int64Array::from_iter_values(0..ROWS)) as ArrayRef,
        ),
        ("text", Arc::new(outputs) as ArrayRef),
    ];
    write(&folder.join("many.parquet"), columns);
    let options = "parse -t t.json --format parquet many.parquet";
    unjinja(folder, &format!("{options} -o whole.parquet"), "");
    let arguments = format!("{options} -o out.parquet");
    run_within(folder, 4_000, &arguments);
    assert!(!folder.join("out.parquet").exists());
    let state = read(folder, "out.parquet.partial/state.json");
    assert_eq!(super::interrupted::counted(&state), 1, "{state}");
    assert_eq!(
        unjinja(folder, &arguments, ""),
        "! continuing after 65536 rows that an earlier run answered\nexit 0"
    );
    let (schema, again) = rows(&folder.join("out.parquet"));
    assert_eq!((schema, again), rows(&folder.join("whole.parquet")));
    assert_eq!(rows(&folder.join("out.parquet")).1.len(), 70_000);
    assert!(!folder.join("out.parquet.partial").exists());
}

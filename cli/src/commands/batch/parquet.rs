//! Parquet: a row in, a row out, with columns that are chosen by name.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int8Type, Int16Type, Int32Type, Int64Type};
use arrow_array::types::{UInt8Type, UInt16Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use arrow_select::take::take;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader,
    ParquetRecordBatchReaderBuilder,
};
use parquet::arrow::{
    ArrowSchemaConverter, ArrowWriter, ProjectionMask, add_encoded_arrow_schema_to_metadata,
};
use parquet::basic::Compression;
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::{PageIndexPolicy, ParquetMetaDataReader};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;

use unjinja::files::ReadFault;
use unjinja::{Object, Value, json};

use crate::commands::Failure;

use super::columns::{Columns, KEYS};
use super::parts::AnswerFile;
use super::reply::{Answers, Members, Reply};

/// How many rows a thread takes at a time, unless they are long.
const BATCH_ROWS: i64 = 1024;
/// How many bytes these have, in the mean of all rows.
const BATCH_BYTES: i64 = 1 << 20;

/// What of a row is JSON, written as text.
const JSON: [&str; 4] = ["tools", "response_template", "response_schema", "kwargs"];

/// The columns that are made, all of them texts.
const MESSAGE: [&str; 3] = ["message", "error", "error_at"];
const COMPLETION: [&str; 3] = ["completion", "error", "error_at"];

/// A file, of which is known what is read.
pub(super) struct Table {
    name: String,
    file: File,
    metadata: ArrowReaderMetadata,
    plan: Plan,
}

/// What of a file is read, and what is made of it.
#[derive(Clone)]
pub(super) struct Plan {
    /// What rows have, and the columns that hold it.
    cells: Vec<(&'static str, String)>,
    /// Columns that go into the answers, with their names there.
    kept: Vec<(String, String)>,
    made: [&'static str; 3],
    /// The columns of the answers.
    pub(super) schema: SchemaRef,
    is_lossy: bool,
}

impl Table {
    pub(super) fn open(
        path: &Path,
        is_lossy: bool,
        columns: &Columns,
        gives_completions: bool,
    ) -> Result<Table, Failure> {
        let name = path.display().to_string();
        let file = File::open(path).map_err(|error| wrong(&name, ReadFault::from(error)))?;
        let options = ArrowReaderOptions::new();
        let metadata = ArrowReaderMetadata::load(&file, options)
            .map_err(|error| wrong(&name, format_args!("this is not Parquet: {error}")))?;
        let made = match gives_completions {
            true => COMPLETION,
            false => MESSAGE,
        };
        let plan = Plan::new(metadata.schema(), is_lossy, columns, made);
        let plan = plan.map_err(|error| wrong(&name, error))?;
        Ok(Table {
            name,
            file,
            metadata,
            plan,
        })
    }

    pub(super) fn plan(&self) -> &Plan {
        &self.plan
    }

    /// How many rows there are.
    pub(super) fn rows(&self) -> u64 {
        let rows = self.metadata.metadata().file_metadata().num_rows();
        u64::try_from(rows).unwrap_or_default()
    }

    /// The rows behind the first ones.
    pub(super) fn rows_after(self, rows: u64) -> Result<Rows, Failure> {
        let metadata = self.metadata.metadata();
        let names = self.plan.names();
        let descriptor = metadata.file_metadata().schema_descr();
        let fields = self.metadata.schema().fields().iter().enumerate();
        let is_read = |field: &Field| names.contains(&field.name().as_str());
        let read: Vec<usize> = fields
            .filter(|(_, field)| is_read(field))
            .map(|(index, _)| index)
            .collect();
        let mask = ProjectionMask::roots(descriptor, read.iter().copied());
        let mut bytes = 0_i64;
        for group in metadata.row_groups() {
            for (index, column) in group.columns().iter().enumerate() {
                if read.contains(&descriptor.get_column_root_idx(index)) {
                    bytes = bytes.saturating_add(column.uncompressed_size().max(0));
                }
            }
        }
        let total = metadata.file_metadata().num_rows().max(1);
        let size = (BATCH_BYTES / (bytes / total).max(1)).clamp(1, BATCH_ROWS);
        let name = self.name;
        let reader = ParquetRecordBatchReaderBuilder::new_with_metadata(self.file, self.metadata)
            .with_projection(mask)
            .with_batch_size(usize::try_from(size).unwrap_or(1))
            .with_offset(usize::try_from(rows).unwrap_or(usize::MAX))
            .build()
            .map_err(|error| wrong(&name, error))?;
        Ok(Rows {
            name,
            reader,
            next: rows,
        })
    }
}

impl Plan {
    fn new(
        schema: &Schema,
        is_lossy: bool,
        columns: &Columns,
        made: [&'static str; 3],
    ) -> Result<Plan, String> {
        let there = || {
            let names = schema.fields().iter();
            let names: Vec<String> = names.map(|field| format!("`{}`", field.name())).collect();
            names.join(", ")
        };
        let missing =
            |name: &str| format!("there is no column `{name}`: the columns are {}", there());
        let mut cells = Vec::new();
        for key in KEYS {
            let Some(name) = columns.name_of(key) else {
                continue;
            };
            match schema.field_with_name(name) {
                Ok(field) if can_hold(field.data_type(), key) => {
                    cells.push((key, name.to_owned()));
                }
                // It can be kept all the same.
                Ok(_) if key == "id" => {}
                Ok(field) => {
                    return Err(format!(
                        "the column `{name}` can't be read as the {key}, since it has the type {}: {}, or \
                         leave it out with `--column {key}=`",
                        field.data_type(),
                        type_remedy(key),
                    ));
                }
                Err(_) if name != key => return Err(missing(name)),
                Err(_) => {}
            }
        }
        if !cells
            .iter()
            .any(|(key, _)| matches!(*key, "text" | "chunks"))
        {
            return Err(format!(
                "there is neither a column `text` nor `chunks`: name the one with the outputs, as in \
                 `--column text=output`; the columns are {}",
                there()
            ));
        }
        let mut kept = Vec::new();
        let mut fields = Vec::new();
        let id = columns.name_of("id").map(|name| (name, "id"));
        let id = id.filter(|(name, _)| schema.field_with_name(name).is_ok());
        let named = columns
            .keep
            .iter()
            .map(|name| (name.as_str(), name.as_str()));
        for (name, new) in id.into_iter().chain(named.filter(|(_, new)| *new != "id")) {
            let field = schema.field_with_name(name).map_err(|_| missing(name))?;
            kept.push((name.to_owned(), new.to_owned()));
            fields.push(field.clone().with_name(new));
        }
        fields.extend(made.map(|name| Field::new(name, DataType::Utf8, true)));
        Ok(Plan {
            cells,
            kept,
            made,
            schema: Arc::new(Schema::new(fields)),
            is_lossy,
        })
    }

    /// The columns that are read.
    fn names(&self) -> Vec<&str> {
        let cells = self.cells.iter().map(|(_, name)| name.as_str());
        let kept = self.kept.iter().map(|(name, _)| name.as_str());
        cells.chain(kept).collect()
    }

    /// Answers the rows of a batch.
    pub(super) fn answer(
        &self,
        batch: &Batch,
        work: &impl Fn(&Object) -> Reply,
    ) -> Answers<Result<RecordBatch, String>> {
        let rows = batch.record.num_rows();
        let mut warnings = Vec::new();
        let mut made: [Vec<Option<String>>; 3] = Default::default();
        let answers = self.cells(&batch.record).and_then(|cells| {
            for row in 0..rows {
                let reply = match self.case(&cells, row) {
                    Ok(case) => work(&case),
                    Err(error) => Reply::of_fault(error),
                };
                let number = batch.first_row + row as u64;
                let of_row = reply.warnings.into_iter();
                warnings.extend(of_row.map(|warning| (number, warning)));
                for (column, value) in made.iter_mut().zip(self.made_of(&reply.answer)) {
                    column.push(value);
                }
            }
            self.record(&batch.record, made)
        });
        Answers {
            answers,
            rows: rows as u64,
            end: batch.first_row - 1 + rows as u64,
            faults: Vec::new(),
            warnings,
        }
    }

    /// The columns that are read, with plain values.
    fn cells<'p>(&'p self, record: &RecordBatch) -> Result<Vec<(&'p str, ArrayRef)>, String> {
        let cells = self.cells.iter().map(|(key, name)| {
            let array = record.column_by_name(name);
            let array = array.ok_or_else(|| format!("there is no column `{name}`"))?;
            let plain = match array.as_any_dictionary_opt() {
                Some(dictionary) => take(dictionary.values(), dictionary.keys(), None)
                    .map_err(|error| error.to_string())?,
                None => array.clone(),
            };
            Ok((*key, plain))
        });
        cells.collect()
    }

    /// What one row has.
    fn case(&self, cells: &[(&str, ArrayRef)], row: usize) -> Result<Object, String> {
        let mut case = Object::new();
        for (key, array) in cells {
            let value = cell(array, row, self.is_lossy);
            let value = value.map_err(|error| format!("`{key}`: {error}"))?;
            let value = match value.as_str() {
                Some(text) if JSON.contains(key) => json::read(text)
                    .map_err(|error| format!("`{key}`: this is not JSON: {error}"))?,
                _ => value,
            };
            if !value.is_null() {
                case.insert(*key, value);
            }
        }
        Ok(case)
    }

    /// The texts that an answer has in the columns that are made.
    fn made_of(&self, answer: &Members) -> [Option<String>; 3] {
        let text = |json: &str| match json::read(json) {
            Ok(Value::String(text)) => text.to_string_lossy().into_owned(),
            _ => json.to_owned(),
        };
        let error = answer.get("error").or_else(|| answer.get("load_error"));
        [
            answer.get(self.made[0]).map(str::to_owned),
            error.map(text),
            answer.get("error_at").map(text),
        ]
    }

    fn record(
        &self,
        record: &RecordBatch,
        made: [Vec<Option<String>>; 3],
    ) -> Result<RecordBatch, String> {
        let mut columns = Vec::new();
        for (name, _) in &self.kept {
            let array = record.column_by_name(name);
            columns.push(
                array
                    .cloned()
                    .ok_or_else(|| format!("there is no column `{name}`"))?,
            );
        }
        for texts in made {
            columns.push(Arc::new(StringArray::from(texts)) as ArrayRef);
        }
        RecordBatch::try_new(self.schema.clone(), columns).map_err(|error| error.to_string())
    }
}

/// Whether a column of a type can hold what goes by a key.
fn can_hold(data_type: &DataType, key: &str) -> bool {
    let plain = match data_type {
        DataType::Dictionary(_, values) => values,
        data_type => data_type,
    };
    match key {
        "chunks" => {
            matches!(plain, DataType::List(of) | DataType::LargeList(of) if is_text(of.data_type()))
        }
        "parallel" => matches!(plain, DataType::Boolean | DataType::Null),
        "id" => is_text(plain) || plain.is_integer(),
        _ => is_text(plain),
    }
}

fn type_remedy(key: &str) -> &'static str {
    match key {
        "chunks" => "make it lists of texts",
        "parallel" => "make it true or false",
        key if JSON.contains(&key) => "write it as JSON in texts",
        _ => "make it texts",
    }
}

fn is_text(data_type: &DataType) -> bool {
    matches!(
        data_type,
        DataType::Utf8
            | DataType::LargeUtf8
            | DataType::Utf8View
            | DataType::Binary
            | DataType::LargeBinary
            | DataType::BinaryView
            | DataType::Null
    )
}

/// The value of a row.
fn cell(array: &ArrayRef, row: usize, is_lossy: bool) -> Result<Value, String> {
    if array.is_null(row) {
        return Ok(Value::Null);
    }
    let bytes = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Value::from(text)),
        Err(_) if is_lossy => Ok(Value::from(&*String::from_utf8_lossy(bytes))),
        Err(error) => Err(format!("byte {} is not valid UTF-8", error.valid_up_to())),
    };
    let list = |items: ArrayRef| {
        let items = (0..items.len()).map(|item| cell(&items, item, is_lossy));
        items
            .collect::<Result<Vec<Value>, String>>()
            .map(Value::from)
    };
    Ok(match array.data_type() {
        DataType::Utf8 => array.as_string::<i32>().value(row).into(),
        DataType::LargeUtf8 => array.as_string::<i64>().value(row).into(),
        DataType::Utf8View => array.as_string_view().value(row).into(),
        DataType::Binary => return bytes(array.as_binary::<i32>().value(row)),
        DataType::LargeBinary => return bytes(array.as_binary::<i64>().value(row)),
        DataType::BinaryView => return bytes(array.as_binary_view().value(row)),
        DataType::Boolean => array.as_boolean().value(row).into(),
        DataType::List(_) => return list(array.as_list::<i32>().value(row)),
        DataType::LargeList(_) => return list(array.as_list::<i64>().value(row)),
        DataType::Int8 => i64::from(array.as_primitive::<Int8Type>().value(row)).into(),
        DataType::Int16 => i64::from(array.as_primitive::<Int16Type>().value(row)).into(),
        DataType::Int32 => i64::from(array.as_primitive::<Int32Type>().value(row)).into(),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row).into(),
        DataType::UInt8 => i64::from(array.as_primitive::<UInt8Type>().value(row)).into(),
        DataType::UInt16 => i64::from(array.as_primitive::<UInt16Type>().value(row)).into(),
        DataType::UInt32 => i64::from(array.as_primitive::<UInt32Type>().value(row)).into(),
        DataType::UInt64 => array.as_primitive::<UInt64Type>().value(row).into(),
        other => return Err(format!("values of the type {other} can't be read")),
    })
}

fn wrong(name: &str, error: impl std::fmt::Display) -> Failure {
    Failure::Input(format!("{name}: {error}"))
}

/// The rows of a file.
pub(super) struct Rows {
    name: String,
    reader: ParquetRecordBatchReader,
    /// How many rows come before the next one.
    next: u64,
}

/// Rows that follow each other.
pub(super) struct Batch {
    record: RecordBatch,
    /// The number of the first one, from 1.
    first_row: u64,
}

impl Rows {
    pub(super) fn next_batch(&mut self) -> Result<Option<Batch>, Failure> {
        let Some(record) = self.reader.next() else {
            return Ok(None);
        };
        let record = record.map_err(|error| wrong(&self.name, error))?;
        let first_row = self.next + 1;
        self.next += record.num_rows() as u64;
        Ok(Some(Batch { record, first_row }))
    }
}

/// How parts of rows are written: a group of rows each.
pub(super) struct ParquetFormat {
    pub(super) schema: SchemaRef,
}

impl ParquetFormat {
    fn properties(&self) -> WriterProperties {
        // Hardly two messages are alike.
        let mut properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
        for name in [MESSAGE[0], COMPLETION[0]] {
            let path = ColumnPath::from(name);
            properties = properties.set_column_dictionary_enabled(path, false);
        }
        properties.build()
    }

    fn join_into(
        &self,
        parts: impl Iterator<Item = io::Result<File>>,
        out: &mut File,
    ) -> Result<(), ParquetError> {
        let mut properties = self.properties();
        add_encoded_arrow_schema_to_metadata(&self.schema, &mut properties);
        let schema = ArrowSchemaConverter::new().convert(&self.schema)?;
        let root = schema.root_schema_ptr();
        let mut writer = SerializedFileWriter::new(out, root, Arc::new(properties))?;
        for part in parts {
            let part = part?;
            let metadata = ParquetMetaDataReader::new()
                .with_page_index_policy(PageIndexPolicy::Optional)
                .parse_and_finish(&part)?;
            let index = metadata.page_index();
            for (at, group) in metadata.row_groups().iter().enumerate() {
                let mut copy = writer.next_row_group()?;
                for (column_at, column) in group.columns().iter().enumerate() {
                    let of_column = index.and_then(|index| index.column_index(at, column_at));
                    let offsets = index.and_then(|index| index.offset_index(at, column_at));
                    let whole = ColumnCloseResult {
                        bytes_written: column.compressed_size() as u64,
                        rows_written: group.num_rows() as u64,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: of_column.cloned(),
                        offset_index: offsets.cloned(),
                    };
                    copy.append_column(&part, whole)?;
                }
                copy.close()?;
            }
        }
        writer.close()?;
        Ok(())
    }
}

impl AnswerFile for ParquetFormat {
    type Answers = Result<RecordBatch, String>;
    type Part = ArrowWriter<File>;

    fn begin(&self, file: File) -> Result<Self::Part, String> {
        let properties = Some(self.properties());
        ArrowWriter::try_new(file, self.schema.clone(), properties)
            .map_err(|error| error.to_string())
    }

    fn write(&self, part: &mut Self::Part, answers: Self::Answers) -> Result<usize, String> {
        part.write(&answers?).map_err(|error| error.to_string())?;
        Ok(part.in_progress_size() + part.bytes_written())
    }

    fn end(&self, part: Self::Part) -> Result<File, String> {
        part.into_inner().map_err(|error| error.to_string())
    }

    fn join(
        &self,
        parts: impl Iterator<Item = io::Result<File>>,
        out: &mut File,
    ) -> Result<(), String> {
        self.join_into(parts, out)
            .map_err(|error| error.to_string())
    }
}

//! The rows of a survey in Parquet.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::properties::WriterProperties;

use unjinja::{Object, Value, json};

use super::super::Failure;
use super::super::output;
use super::each_row;

/// The columns, in their order. What is no text and no number is JSON, written as text.
const COLUMNS: [(&str, DataType); 21] = [
    ("source", DataType::Utf8),
    ("variant", DataType::Utf8),
    ("base", DataType::Utf8),
    ("same_as", DataType::Utf8),
    ("text", DataType::Utf8),
    ("input", DataType::Utf8),
    ("behaviour", DataType::Utf8),
    ("standing", DataType::Utf8),
    ("error", DataType::Utf8),
    ("recovered", DataType::Int64),
    ("renderings", DataType::Int64),
    ("missing_tokens", DataType::Utf8),
    ("format", DataType::Utf8),
    ("reasoning", DataType::Utf8),
    ("calls", DataType::Utf8),
    ("arguments", DataType::Utf8),
    ("markers", DataType::Utf8),
    ("lints", DataType::Utf8),
    ("targets", DataType::Utf8),
    ("capabilities", DataType::Utf8),
    ("response_template", DataType::Utf8),
];

/// So many rows are written at a time.
const BATCH: usize = 1024;

/// Writes the rows of a survey into a file of Parquet.
pub(crate) fn write(survey: &Path, out: &Path) -> Result<(), Failure> {
    let wrong =
        |error: &dyn std::fmt::Display| Failure::Input(format!("{}: {error}", out.display()));
    let mut read = Ok(());
    output::change_with(out, |file| {
        let written = write_rows(survey, file, &wrong);
        let is_written = written.is_ok();
        read = written;
        match is_written {
            true => Ok(()),
            // The file is not left behind, and why not is told below.
            false => Err(std::io::Error::other("the rows can't be written")),
        }
    })
    .map_err(|failure| {
        std::mem::replace(&mut read, Ok(()))
            .err()
            .unwrap_or(failure)
    })
}

fn write_rows(
    survey: &Path,
    file: &File,
    wrong: &dyn Fn(&dyn std::fmt::Display) -> Failure,
) -> Result<(), Failure> {
    let fields = COLUMNS.map(|(name, kind)| Field::new(name, kind, true));
    let schema: SchemaRef = Arc::new(Schema::new(fields.to_vec()));
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = file.try_clone().map_err(|error| wrong(&error))?;
    let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties.build()));
    let mut writer = writer.map_err(|error| wrong(&error))?;
    let mut rows: Vec<Object> = Vec::new();
    each_row(survey, |mut row, _| {
        let details = row.remove("details");
        let template = details.and_then(|details| details.get("response_template").cloned());
        row.insert("response_template", template);
        rows.push(row);
        if rows.len() == BATCH {
            let batch = batch(&schema, &rows).map_err(|error| wrong(&error))?;
            writer.write(&batch).map_err(|error| wrong(&error))?;
            rows.clear();
        }
        Ok(())
    })?;
    let batch = batch(&schema, &rows).map_err(|error| wrong(&error))?;
    writer.write(&batch).map_err(|error| wrong(&error))?;
    writer.close().map_err(|error| wrong(&error))?;
    Ok(())
}

fn batch(schema: &SchemaRef, rows: &[Object]) -> Result<RecordBatch, ArrowError> {
    let columns = COLUMNS.map(|(name, kind)| -> ArrayRef {
        let values = rows
            .iter()
            .map(|row| row.get(name).filter(|value| !value.is_null()));
        match kind {
            DataType::Int64 => {
                let numbers = values.map(|value| json::write(value?).parse::<i64>().ok());
                Arc::new(numbers.collect::<Int64Array>())
            }
            _ => {
                let texts = values.map(|value| match value? {
                    Value::String(text) => Some(text.to_string_lossy().into_owned()),
                    other => Some(json::write(other)),
                });
                Arc::new(texts.collect::<StringArray>())
            }
        }
    });
    RecordBatch::try_new(Arc::clone(schema), columns.to_vec())
}

//! Columns by name and type: any deviation from what was written is damage.

use super::error::SegmentError;
use super::table::name_in_format_1;
use arrow_array::cast::AsArray;
use arrow_array::types::{ArrowPrimitiveType, Int32Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, FixedSizeBinaryArray, Int32Array, PrimitiveArray,
    RecordBatch, StringArray,
};
use std::sync::Arc;

/// A column of any type.
pub(crate) fn named<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a ArrayRef, SegmentError> {
    let column = batch.column_by_name(name).or_else(|| batch.column_by_name(name_in_format_1(name)));
    column.ok_or_else(|| SegmentError::damaged(format!("has no column {name}")))
}

fn wrong_type(name: &str) -> SegmentError {
    SegmentError::damaged(format!("has a column {name} of another type"))
}

fn without_absent<'a, A: Array>(array: &'a A, name: &str) -> Result<&'a A, SegmentError> {
    match array.null_count() {
        0 => Ok(array),
        _ => Err(SegmentError::damaged(format!("has no value in some rows of column {name}"))),
    }
}

/// The values of a column of numbers that are all there.
pub(crate) fn numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a [T::Native], SegmentError> {
    let array = named(batch, name)?.as_primitive_opt::<T>().ok_or_else(|| wrong_type(name))?;
    Ok(without_absent(array, name)?.values())
}

/// A column of numbers some of which may be absent.
pub(crate) fn optional_numbers<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a PrimitiveArray<T>, SegmentError> {
    named(batch, name)?.as_primitive_opt::<T>().ok_or_else(|| wrong_type(name))
}

/// The same of a column that earlier versions did not write.
pub(crate) fn optional_numbers_if_present<'a, T: ArrowPrimitiveType>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<&'a PrimitiveArray<T>>, SegmentError> {
    batch.column_by_name(name).map(|_| optional_numbers::<T>(batch, name)).transpose()
}

/// A column of booleans without absent values.
pub(crate) fn booleans<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a BooleanArray, SegmentError> {
    without_absent(named(batch, name)?.as_boolean_opt().ok_or_else(|| wrong_type(name))?, name)
}

/// A column of 16 bytes a value.
pub(crate) fn traces<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a FixedSizeBinaryArray, SegmentError> {
    let array = named(batch, name)?.as_fixed_size_binary_opt().ok_or_else(|| wrong_type(name))?;
    match array.value_length() {
        16 => without_absent(array, name),
        _ => Err(wrong_type(name)),
    }
}

/// A column of texts that are mostly absent.
pub(crate) fn optional_texts<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<&'a StringArray, SegmentError> {
    named(batch, name)?.as_string_opt::<i32>().ok_or_else(|| wrong_type(name))
}

/// The same of a column that earlier versions did not write.
pub(crate) fn optional_texts_if_present<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<&'a StringArray>, SegmentError> {
    batch.column_by_name(name).map(|_| optional_texts(batch, name)).transpose()
}

/// A column of few distinct texts: a number for each row, and the text of each number.
pub(crate) struct DictionaryColumn<'a> {
    pub(crate) keys: &'a [i32],
    pub(crate) values: &'a StringArray,
}

/// A column of few distinct texts that are all there.
pub(crate) fn texts<'a>(batch: &'a RecordBatch, name: &str) -> Result<DictionaryColumn<'a>, SegmentError> {
    let array: &DictionaryArray<Int32Type> =
        named(batch, name)?.as_dictionary_opt().ok_or_else(|| wrong_type(name))?;
    let values = array.values().as_string_opt::<i32>().ok_or_else(|| wrong_type(name))?;
    let keys = without_absent(array.keys(), name)?;
    Ok(DictionaryColumn { keys: keys.values(), values: without_absent(values, name)? })
}

/// The same of a column that earlier versions did not write.
pub(crate) fn texts_if_present<'a>(
    batch: &'a RecordBatch,
    name: &str,
) -> Result<Option<DictionaryColumn<'a>>, SegmentError> {
    batch.column_by_name(name).map(|_| texts(batch, name)).transpose()
}

/// A column of texts to write, of a number for each row and the text of each number.
pub(crate) fn text_column(keys: Vec<i32>, values: &Arc<StringArray>) -> Result<ArrayRef, SegmentError> {
    let values: ArrayRef = Arc::clone(values) as ArrayRef;
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(Int32Array::from(keys), values)?))
}

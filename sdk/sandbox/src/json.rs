//! Reading and writing JSON by a path of field names, where anything may be missing.

use serde_json::{Map, Value};

/// The value at a path; null where there is none.
pub(crate) fn at<'a>(value: &'a Value, path: &[&str]) -> &'a Value {
    let found = path.iter().try_fold(value, |value, field| value.get(field));
    found.unwrap_or(&Value::Null)
}

/// Sets the value at a path, making objects of whatever else is on the way.
pub(crate) fn put(value: &mut Value, path: &[&str], new: Value) {
    let Some((field, rest)) = path.split_first() else {
        *value = new;
        return;
    };
    if !value.is_object() {
        *value = Value::Object(Map::new());
    }
    if let Some(fields) = value.as_object_mut() {
        put(fields.entry(*field).or_insert(Value::Null), rest, new);
    }
}

#[cfg(test)]
mod tests {
    use super::{at, put};
    use serde_json::{Value, json};

    #[test]
    fn what_is_missing_reads_as_null_and_is_made_by_a_write() {
        let mut value = json!({"a": {"b": 1}, "text": "t"});
        assert_eq!(at(&value, &["a", "b"]), &json!(1));
        for path in [&["a", "c"] as &[&str], &["x", "y"], &["text", "y"]] {
            assert_eq!(at(&value, path), &Value::Null);
        }
        put(&mut value, &["text", "y"], json!(2));
        put(&mut value, &["a", "c"], json!(3));
        assert_eq!(value, json!({"a": {"b": 1, "c": 3}, "text": {"y": 2}}));
    }
}

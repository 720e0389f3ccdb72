//! Values on their way between the engine and operations.

use boa_engine::object::ObjectInitializer;
use boa_engine::object::builtins::{JsArray, JsUint8Array};
use boa_engine::property::Attribute;
use boa_engine::{
    Context, JsBigInt, JsError, JsNativeError, JsResult, JsString, JsValue, js_string,
};
use mainspring_js::{OpError, Value};

/// A plain value of the script. What cannot be one is `undefined`.
pub(crate) fn from_js(value: &JsValue, context: &mut Context) -> JsResult<Value> {
    if let Some(number) = value.as_number() {
        return Ok(Value::Number(number));
    }
    if let Some(text) = value.as_string() {
        return Ok(Value::String(text.to_std_string_lossy()));
    }
    if let Some(value) = value.as_boolean() {
        return Ok(Value::Bool(value));
    }
    if value.is_null() {
        return Ok(Value::Null);
    }
    let Some(object) = value.as_object() else { return Ok(Value::Undefined) };
    if object.is_callable() {
        return Ok(Value::Undefined);
    }
    if let Ok(array) = JsArray::from_object(object.clone()) {
        let mut items = Vec::new();
        for index in 0..array.length(context)? {
            let item = array.get(index, context)?;
            items.push(from_js(&item, context)?);
        }
        return Ok(Value::Array(items));
    }
    if let Ok(bytes) = JsUint8Array::from_object(object.clone()) {
        return Ok(Value::Bytes(bytes.iter(context).collect()));
    }
    let mut properties = Vec::new();
    for key in object.own_property_keys(context)? {
        let value = object.get(key.clone(), context)?;
        properties.push((key.to_string(), from_js(&value, context)?));
    }
    Ok(Value::Object(properties))
}

/// A value for the script.
pub(crate) fn to_js(value: Value, context: &mut Context) -> JsResult<JsValue> {
    Ok(match value {
        Value::Undefined => JsValue::undefined(),
        Value::Null => JsValue::null(),
        Value::Bool(value) => value.into(),
        Value::Number(number) => number.into(),
        Value::BigInt(number) => JsBigInt::from(number).into(),
        Value::String(text) => JsString::from(text).into(),
        Value::Bytes(bytes) => JsUint8Array::from_iter(bytes, context)?.into(),
        Value::Array(items) => {
            let array = JsArray::new(context)?;
            for item in items {
                let item = to_js(item, context)?;
                array.push(item, context)?;
            }
            array.into()
        }
        Value::Object(properties) => {
            let object = ObjectInitializer::new(context).build();
            for (key, value) in properties {
                let value = to_js(value, context)?;
                object.create_data_property_or_throw(JsString::from(key), value, context)?;
            }
            object.into()
        }
        Value::Error(error) => to_error(error, context)?.into_opaque(context)?,
    })
}

/// An error of an operation, as the script sees it.
pub(crate) fn to_error(error: OpError, context: &mut Context) -> JsResult<JsError> {
    let native = match error.class {
        "TypeError" => JsNativeError::typ(),
        "RangeError" => JsNativeError::range(),
        "SyntaxError" => JsNativeError::syntax(),
        _ => JsNativeError::error(),
    };
    let object = native.with_message(error.message).into_opaque(context);
    if let Some(code) = error.code {
        object.set(js_string!("code"), JsString::from(code), false, context)?;
    }
    for (key, value) in error.properties {
        let value = to_js(value, context)?;
        object.set(JsString::from(key), value, false, context)?;
    }
    Ok(JsError::from_opaque(object.into()))
}

/// How functions stand on `host`.
pub(crate) const PLAIN: Attribute = Attribute::all();

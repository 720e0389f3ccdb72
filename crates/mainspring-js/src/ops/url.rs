//! URLs, as the URL standard says.

use url::{Host as UrlHost, Position, Url, form_urlencoded, quirks};

use super::{Args, Op};
use crate::{Host, OpError, Value};

pub(crate) const OPS: &[(&str, Op)] = &[
    ("urlParse", parse),
    ("urlCanParse", can_parse),
    ("urlSet", set),
    ("urlDomain", domain),
    ("formParse", form_parse),
    ("formSerialize", form_serialize),
];

/// `urlParse(input, base?)`: the parts of a URL, or `undefined` if it is none.
fn parse(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(resolve(&mut args)?.as_ref().map(parts).into())
}

/// `urlCanParse(input, base?)`
fn can_parse(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    Ok(resolve(&mut args)?.is_some().into())
}

fn resolve(args: &mut Args<'_>) -> Result<Option<Url>, OpError> {
    let input = args.string(0)?;
    Ok(match args.take(1) {
        Value::String(base) => Url::parse(&base).and_then(|base| base.join(&input)).ok(),
        _ => Url::parse(&input).ok(),
    })
}

/// The whole, and where its parts are. It is ASCII: positions are the same for scripts. A password and a port
/// stand between those of others.
fn parts(url: &Url) -> Value {
    let at = |position| Value::Number(url[..position].len() as f64);
    Value::Array(vec![
        Value::from(url.as_str()),
        at(Position::AfterScheme),
        at(Position::BeforeUsername),
        at(Position::AfterUsername),
        at(Position::BeforeHost),
        at(Position::AfterHost),
        at(Position::AfterPort),
        at(Position::BeforePath),
        at(Position::AfterPath),
        at(Position::AfterQuery),
    ])
}

/// `urlSet(href, part, value)`: the parts of the changed URL, or `undefined` if the value is refused.
fn set(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (href, part, value) = (args.string(0)?, args.string(1)?, args.string(2)?);
    let Ok(mut url) = Url::parse(&href) else { return Ok(Value::Undefined) };
    let done = match part.as_str() {
        "protocol" => quirks::set_protocol(&mut url, &value),
        "username" => quirks::set_username(&mut url, &value),
        "password" => quirks::set_password(&mut url, &value),
        "host" => quirks::set_host(&mut url, &value),
        "hostname" => quirks::set_hostname(&mut url, &value),
        "port" => quirks::set_port(&mut url, &value),
        "pathname" => {
            quirks::set_pathname(&mut url, &value);
            Ok(())
        }
        "search" => {
            quirks::set_search(&mut url, &value);
            Ok(())
        }
        "hash" => {
            quirks::set_hash(&mut url, &value);
            Ok(())
        }
        _ => Err(()),
    };
    Ok(done.ok().map(|()| parts(&url)).into())
}

/// `urlDomain(domain, unicode)`: the domain as a URL has it, or as people read it; empty if it is none.
fn domain(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let (domain, unicode) = (args.string(0)?, args.bool(1)?);
    let Ok(mut url) = Url::parse("ws://x") else { return Ok(Value::from("")) };
    if quirks::set_hostname(&mut url, &domain).is_err() {
        return Ok(Value::from(""));
    }
    Ok(match url.host() {
        Some(UrlHost::Domain(name)) if unicode => quirks::domain_to_unicode(name).into(),
        _ => quirks::hostname(&url).into(),
    })
}

/// `formParse(query)`: names and values in turn.
fn form_parse(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let query = args.string(0)?;
    let pairs = form_urlencoded::parse(query.as_bytes());
    Ok(Value::Array(
        pairs
            .flat_map(|(name, value)| [name, value])
            .map(|text| Value::from(text.into_owned()))
            .collect(),
    ))
}

/// `formSerialize(list)`: what `formParse` reads, from the same list.
fn form_serialize(_: &Host, mut args: Args<'_>) -> Result<Value, OpError> {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Value::Array(list) = args.take(0) {
        for pair in list.chunks_exact(2) {
            if let [Value::String(name), Value::String(value)] = pair {
                query.append_pair(name, value);
            }
        }
    }
    Ok(query.finish().into())
}

#[cfg(test)]
mod tests {
    use super::super::testing::run;
    use super::*;

    fn href(value: &Value) -> &str {
        match value {
            Value::Array(parts) => match &parts[0] {
                Value::String(href) => href,
                other => panic!("{other:?}"),
            },
            other => panic!("{other:?}"),
        }
    }

    // spec: JS-2
    #[test]
    fn parts_are_where_they_are_said_to_be() {
        let found = run(parse, ["http://me:pw@Example.org:8080/a?b#c"]);
        let Value::Array(parts) = found else { panic!("{found:?}") };
        let expected = [4, 7, 9, 13, 24, 29, 29, 31, 33];
        assert_eq!(parts[0], Value::from("http://me:pw@example.org:8080/a?b#c"));
        assert_eq!(parts[1..], expected.map(Value::from));
    }

    // spec: JS-2
    #[test]
    fn parts_may_be_missing() {
        for url in ["mailto:me", "http://me@a/", "http://:pw@a/", "file:///", "a:/.//b"] {
            assert_eq!(href(&run(parse, [url])), url);
        }
    }

    // spec: JS-2
    #[test]
    fn a_base_is_for_what_is_relative() {
        assert_eq!(run(parse, ["../x"]), Value::Undefined);
        assert_eq!(run(can_parse, ["../x"]), Value::Bool(false));
        assert_eq!(href(&run(parse, ["../x", "http://a/b/c/d"])), "http://a/b/x");
        assert_eq!(run(can_parse, ["x", "mailto:me"]), Value::Bool(false));
    }

    // spec: JS-2
    #[test]
    fn setters_change_or_refuse() {
        assert_eq!(href(&run(set, ["http://a/", "port", "81"])), "http://a:81/");
        assert_eq!(href(&run(set, ["http://a/?b", "search", ""])), "http://a/");
        assert_eq!(run(set, ["http://a/", "port", "x"]), Value::Undefined);
        assert_eq!(run(set, ["mailto:me", "host", "a"]), Value::Undefined);
        assert_eq!(run(set, ["http://a/", "origin", "a"]), Value::Undefined);
    }

    // spec: JS-2
    #[test]
    fn domains_are_read_both_ways() {
        let domain = |text: &str, unicode| run(domain, [Value::from(text), Value::Bool(unicode)]);
        assert_eq!(domain("español.com", false), Value::from("xn--espaol-zwa.com"));
        assert_eq!(domain("xn--espaol-zwa.com", true), Value::from("español.com"));
        assert_eq!(domain("0x7f.1", true), Value::from("127.0.0.1"));
        assert_eq!(domain("a b", false), Value::from(""));
    }

    // spec: JS-2
    #[test]
    fn forms_there_and_back() {
        let list = Value::Array(["a b", "1&2", "ü", "", "a b", "*-._~"].map(Value::from).into());
        let query = run(form_serialize, [list.clone()]);
        assert_eq!(query, Value::from("a+b=1%262&%C3%BC=&a+b=*-._%7E"));
        assert_eq!(run(form_parse, [query]), list);
    }
}

//! Reads what rustdoc knows of a crate, as JSON, and prints one of two lists: see `tools/api`.
//!
//! * `list FILE`: each public item, as it is declared. An implementation of a trait is one line, and the methods are those of
//!   the trait. Implementations that every type has are left out, and so are those of traits that nobody can name yet.
//! * `examples FILE`: each public item whose documentation has no example. The list is empty if all have one.

use rustdoc_types::{Crate, Id, Item, ItemEnum};
use std::error::Error;
use std::process::ExitCode;

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [mode, file] = arguments.as_slice() else {
        eprintln!("usage: (list | examples) FILE");
        return Ok(ExitCode::from(2));
    };
    let api = public_api::Builder::from_rustdoc_json(file).omit_blanket_impls(true).build()?;
    let docs: Crate = serde_json::from_slice(&std::fs::read(file)?)?;
    match mode.as_str() {
        "list" => {
            for entry in api.items() {
                if !is_implied(&docs, entry.id(), entry.parent_id()) {
                    println!("{entry}");
                }
            }
            Ok(ExitCode::SUCCESS)
        }
        "examples" => {
            let mut missing = 0;
            for entry in api.items() {
                if needs_example(&docs, entry.id(), entry.parent_id())
                    && !is_implemented(&docs, entry.id(), entry.parent_id())
                    && !has_example(&docs, entry.id())
                {
                    println!("{entry}");
                    missing += 1;
                }
            }
            Ok(if missing == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        _ => Err(format!("{mode} is neither list nor examples").into()),
    }
}

/// Whether nobody learns anything from its line.
fn is_implied(docs: &Crate, id: Id, parent: Option<Id>) -> bool {
    match &item(docs, id).inner {
        ItemEnum::Function(_) => implements(docs, parent),
        ItemEnum::Impl(it) => it
            .trait_
            .as_ref()
            .is_some_and(|name| matches!(name.path.as_str(), "Freeze" | "UnsafeUnpin")),
        _ => false,
    }
}

/// Whether it is a module, a type, a trait, a function or a constant, and not one that a trait asks of its
/// implementations: those are explained where the trait is. Fields and variants are explained by their type.
fn needs_example(docs: &Crate, id: Id, parent: Option<Id>) -> bool {
    match &item(docs, id).inner {
        ItemEnum::Module(_)
        | ItemEnum::Struct(_)
        | ItemEnum::Enum(_)
        | ItemEnum::Union(_)
        | ItemEnum::Trait(_)
        | ItemEnum::TypeAlias(_)
        | ItemEnum::Macro(_)
        | ItemEnum::Constant { .. }
        | ItemEnum::Static(_) => true,
        ItemEnum::Function(_) | ItemEnum::AssocConst { .. } => !implements(docs, parent),
        _ => false,
    }
}

/// Whether what has this parent belongs to the implementation of a trait.
fn implements(docs: &Crate, parent: Option<Id>) -> bool {
    parent.is_some_and(
        |parent| matches!(&item(docs, parent).inner, ItemEnum::Impl(it) if it.trait_.is_some()),
    )
}

/// Whether it is a method of a trait that an example of the trait or of another method implements: one by itself would
/// show no more.
fn is_implemented(docs: &Crate, id: Id, parent: Option<Id>) -> bool {
    let Some(parent) = parent else { return false };
    let ItemEnum::Trait(it) = &item(docs, parent).inner else { return false };
    let declared = format!("fn {}(", item(docs, id).name.as_deref().unwrap_or_default());
    let mut examples =
        [&parent].into_iter().chain(&it.items).filter_map(|&id| item(docs, id).docs.as_deref());
    examples.any(|text| text.contains(&declared))
}

/// Whether a block of its documentation is Rust, which the documentation tests then compile.
fn has_example(docs: &Crate, id: Id) -> bool {
    let text = item(docs, id).docs.as_deref().unwrap_or("");
    let fences = text.lines().map(str::trim).filter(|line| line.starts_with("```"));
    // Every other one closes a block.
    fences.step_by(2).any(|open| open[3..].split(',').all(is_rust))
}

/// Whether a word behind the fence of a block is one of those of Rust's.
fn is_rust(word: &str) -> bool {
    matches!(word, "" | "rust" | "no_run" | "should_panic" | "compile_fail")
}

fn item(docs: &Crate, id: Id) -> &Item {
    &docs.index[&id]
}

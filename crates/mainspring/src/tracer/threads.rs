//! Small numbers for threads, and the names that belong to them.

use std::cell::Cell;
use std::thread;

use crate::sync::{Mutex, lock};

/// The number of all threads for which there is none left.
pub(super) const OTHERS: u16 = u16::MAX;

/// The names of threads 1, 2, and so on, as they were when the numbers were given.
static NAMES: Mutex<Vec<Option<Box<str>>>> = Mutex::new(Vec::new());

/// The number of the current thread: 1 or more, and never that of another thread, but for those that come
/// after the 65,534th, which have one together. It is given on first use.
#[inline]
pub(crate) fn thread_number() -> u16 {
    thread_local!(static NUMBER: Cell<u16> = const { Cell::new(0) });
    NUMBER.with(|number| {
        if number.get() == 0 {
            number.set(register());
        }
        number.get()
    })
}

#[cold]
fn register() -> u16 {
    let name = thread::current().name().map(Box::from);
    enter(&mut lock(&NAMES), name)
}

/// Adds a name, and tells its number.
fn enter(names: &mut Vec<Option<Box<str>>>, name: Option<Box<str>>) -> u16 {
    match u16::try_from(names.len() + 1) {
        Ok(number) if number != OTHERS => {
            names.push(name);
            number
        }
        _ => OTHERS,
    }
}

/// What the thread with this number is called.
pub(super) fn name_of(number: u16) -> String {
    if number == OTHERS {
        return "other threads".into();
    }
    let names = lock(&NAMES);
    let name = usize::from(number).checked_sub(1).and_then(|index| names.get(index));
    match name {
        Some(Some(name)) => name.to_string(),
        _ => format!("thread {number}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_keeps_its_number_and_its_name() {
        let own = thread_number();
        assert_eq!(own, thread_number());
        let named = thread::Builder::new().name("a name".into()).spawn(thread_number).unwrap();
        let named = named.join().unwrap();
        let unnamed = thread::spawn(thread_number).join().unwrap();
        assert!(own != named && named != unnamed && unnamed != own);
        assert_eq!(name_of(named), "a name");
        assert_eq!(name_of(unnamed), format!("thread {unnamed}"));
    }

    #[test]
    fn threads_beyond_the_last_number_have_one_together() {
        let mut names = vec![None; usize::from(OTHERS) - 2];
        assert_eq!(enter(&mut names, None), OTHERS - 1);
        assert_eq!(enter(&mut names, None), OTHERS);
        assert_eq!(enter(&mut names, None), OTHERS);
        assert_eq!(names.len(), usize::from(OTHERS) - 1);
        assert_eq!(name_of(OTHERS), "other threads");
    }
}

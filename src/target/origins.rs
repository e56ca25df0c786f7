//! Who named the targets: a table that grows while the scan runs.
//!
//! What a list says about a target is as large as a row, and is needed once, for that row. So such an origin is freed
//! when it is taken, and a list of a million servers takes only as much memory as those of them in flight.

use std::sync::{Arc, PoisonError, RwLock};

use super::Origin;

/// Origins by number; clones are the same table.
#[derive(Debug, Clone, Default)]
pub struct Origins(Arc<RwLock<Table>>);

#[derive(Debug, Default)]
struct Table {
    all: Vec<Origin>,
    /// Numbers that are free again.
    free: Vec<u32>,
}

impl Origins {
    /// Adds one and returns its number.
    #[must_use]
    pub fn add(&self, origin: Origin) -> u32 {
        let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let Table { all, free } = &mut *table;
        if let Some(number) = free.pop() {
            all[number as usize] = origin;
            return number;
        }
        all.push(origin);
        (all.len() - 1) as u32
    }

    /// The origin of that number.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<Origin> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).all.get(number as usize).cloned()
    }

    /// The same for the row of a target. If the origin holds what a list says about that target alone, it is freed, and
    /// its number is reused.
    #[must_use]
    pub fn take(&self, number: u32) -> Option<Origin> {
        let origin = self.find(number)?;
        if origin.facts.is_some() {
            let mut table = self.0.write().unwrap_or_else(PoisonError::into_inner);
            table.all[number as usize] = Origin::default();
            table.free.push(number);
        }
        Some(origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::ListFacts;

    #[test]
    fn what_a_list_says_is_given_up_with_the_row_and_everything_else_stays() {
        let origins = Origins::default();
        let file = origins.add(Origin { source: Some("list.txt".into()), ..Origin::default() });
        let facts = || Origin { facts: Some(Arc::new(ListFacts::default())), ..Origin::default() };
        let numbers: Vec<_> = (0..1_000).map(|_| origins.add(facts())).collect();
        for number in numbers {
            assert_eq!(origins.take(number), Some(facts()));
            assert_eq!(origins.find(number), Some(Origin::default()));
            assert_eq!(origins.add(facts()), number, "its place is used again");
        }
        assert_eq!(origins.take(file), origins.take(file));
        assert_eq!(origins.find(1_001), None);
    }
}

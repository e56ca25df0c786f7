//! Who named the targets: a table that grows while the scan runs.

use std::sync::{Arc, PoisonError, RwLock};

use super::Origin;

/// Origins by number; clones are the same table.
#[derive(Debug, Clone, Default)]
pub struct Origins(Arc<RwLock<Vec<Origin>>>);

impl Origins {
    /// Adds one and returns its number.
    #[must_use]
    pub fn add(&self, origin: Origin) -> u32 {
        let mut all = self.0.write().unwrap_or_else(PoisonError::into_inner);
        all.push(origin);
        (all.len() - 1) as u32
    }

    /// The origin of that number.
    #[must_use]
    pub fn find(&self, number: u32) -> Option<Origin> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(number as usize).cloned()
    }
}

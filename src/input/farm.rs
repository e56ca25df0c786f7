//! Simulated servers among the targets: `farm:N`.

use super::Input;
use crate::config::farm_target;
use crate::farm::{Farm, FarmSettings, Speaks};
use crate::target::{IpRange, Ports};

/// Simulated servers among the targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct NamedFarm {
    pub(super) settings: FarmSettings,
    /// By which its servers are asked.
    plan: u16,
    origin: u32,
}

impl Input {
    /// Notes the farm of the argument `text`; its servers are targets once it is started.
    pub(super) fn name_farm(
        &mut self,
        text: &str,
        scheme: Option<&str>,
        servers: u32,
        parameters: &str,
    ) -> Result<(), String> {
        if self.farm.is_some() {
            return Err("one farm is enough for a scan".into());
        }
        let (protocol, plan) = self.reading.read_farm(scheme)?;
        let mut settings = farm_target(servers, parameters).map_err(|error| error.to_string())?;
        // Its servers speak what they are asked in, unless something else is wanted.
        if settings.speaks == Speaks::Any {
            settings.speaks = protocol.map_or(Speaks::OneEach, Speaks::Only);
        }
        self.farm = Some(NamedFarm { settings, plan, origin: self.origin(text, None) });
        Ok(())
    }

    /// Adds the servers of a farm, now that its port is known.
    pub(super) fn add_farm(&mut self, farm: &Farm) {
        let Some(NamedFarm { plan, origin, .. }) = self.farm else { return };
        // Neighbours on the same port are one range.
        let mut first = 0;
        for index in 1..=farm.len() {
            let port = farm.address(first).port();
            if index == farm.len() || farm.address(index).port() != port {
                let (from, to) = (farm.address(first).ip(), farm.address(index - 1).ip());
                if let Some(range) = IpRange::new(from, to) {
                    self.set.add(range, &Ports::one(port), plan, origin, true);
                }
                first = index;
            }
        }
    }
}

//! A scan: from options to a run that is ready to start.

use std::fmt::{self, Debug, Display};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::collisions;
use super::outcome::Outcome;
use super::publish::Publisher;
use super::session::Session;
use super::sinks::ForEach;
use crate::config::{InputOptions, NetworkOptions, Output, OutputOptions, ScanOptions};
use crate::engine::{Engine, Plan};
use crate::error::Error;
use crate::farm::FarmSettings;
use crate::farm::serve::{self, Serving};
use crate::input::{Account, FilesRead, Input, Opened};
use crate::net::driver::{Stop, Stopper, Watch, read_clocks};
use crate::net::socket;
use crate::output::metadata::SettingsInForce;
use crate::output::writer::Writer;
use crate::output::{Assembler, Clones, Destination, Epoch, FileSink, Leftover, Look, NameLog, OutputError, Raw, Sink};
use crate::record::{Selection, ServerRecord};
use crate::target::Source;

/// A scan that is being set up.
pub struct Scan<'a> {
    options: ScanOptions,
    /// What iterators give.
    given: Vec<Addresses>,
    /// A source of the program's own, and its plans.
    source: Option<(Box<dyn Source>, Vec<Plan>)>,
    sinks: Vec<Box<dyn Sink + 'a>>,
    look: Look,
    notices: Notices,
}

/// Receives messages for a person.
pub(crate) type Notices = Arc<dyn Fn(&dyn Display) + Send + Sync>;

type Addresses = Box<dyn Iterator<Item = SocketAddr> + Send>;

/// A scan that is ready to start.
pub struct Run<'a> {
    session: Session,
    writer: Writer<'a>,
    publisher: Publisher,
    _farm: Option<Serving>,
}

/// Targets that were read, with the simulated servers among them.
pub(super) struct Ready {
    pub opened: Opened,
    pub files: FilesRead,
    pub farm: Option<Serving>,
}

impl<'a> Scan<'a> {
    /// A scan as `options` say, whose records go to the outputs that they name.
    #[must_use]
    pub fn new(options: ScanOptions) -> Self {
        let notices = Arc::new(|_: &dyn Display| {});
        Self { options, given: Vec::new(), source: None, sinks: Vec::new(), look: Look::default(), notices }
    }

    /// Asks these addresses too, in the default protocol. They are treated like lines of a file: each is asked once,
    /// and reserved, private and excluded ones are left out. The iterator is called on the thread that runs the scan,
    /// whenever there is room for targets, and must not block.
    ///
    /// Where they are is not known beforehand: unless the options say otherwise, the pace is that of a scan of the Internet,
    /// even if all of them are on loopback.
    #[must_use]
    pub fn with_targets<I>(mut self, targets: I) -> Self
    where
        I: IntoIterator<Item = SocketAddr, IntoIter: Send + 'static>,
    {
        self.given.push(Box::new(targets.into_iter()));
        self
    }

    /// Asks only the targets of `source`, each by the one of `plans` that it names. Nothing is left out, and the source
    /// itself must ensure that each target comes once. [`Scan::prepare`] refuses a scan that has other targets as well.
    ///
    /// Loopback is no exception here: unless the options say otherwise, the pace is that of a scan of the Internet. The
    /// run panics if a target names a plan that does not exist, or one without legs.
    #[must_use]
    pub fn with_source(self, source: impl Source + 'static, plans: Vec<Plan>) -> Self {
        Self { source: Some((Box::new(source), plans)), ..self }
    }

    /// Gives records to `sink` too, on the writer's thread. With a `&mut` to a sink, you have it back after the run.
    #[must_use]
    pub fn with_sink(mut self, sink: impl Sink + 'a) -> Self {
        self.sinks.push(Box::new(sink));
        self
    }

    /// Calls `call` with each record for which [`OutputOptions::condition`] holds, on the writer's thread, in the order in
    /// which targets end. While it runs, answers wait; while more than a few MiB wait, no new target is asked. If it panics,
    /// the run ends and panics too.
    #[must_use]
    pub fn for_each(self, call: impl FnMut(&ServerRecord) + Send + 'a) -> Self {
        self.with_sink(ForEach::new(call))
    }

    /// Passes messages for a person to `notices`: lines that cannot be read, and what holds up a list. It may be called
    /// on any thread.
    #[must_use]
    pub fn with_notices(self, notices: impl Fn(&dyn Display) + Send + Sync + 'static) -> Self {
        Self { notices: Arc::new(notices), ..self }
    }

    /// How tables look.
    #[must_use]
    pub(crate) fn with_look(self, look: Look) -> Self {
        Self { look, ..self }
    }

    /// Runs the scan to its end, on this thread. See [`Run::run`] for what is an error.
    pub fn run(self) -> Result<Outcome, Error> {
        self.prepare()?.run(&mut ())
    }

    /// Reads the input, starts what it names, and opens outputs and sockets.
    pub fn prepare(self) -> Result<Run<'a>, Error> {
        let (instant, unix_us) = read_clocks();
        let epoch = Epoch { instant, unix_us };
        let Self { options, given, source, mut sinks, look, notices } = self;
        options.limits.check()?;
        refuse_collisions(&options)?;
        claim_addresses(&options.network)?;
        let ScanOptions { input, limits, network, output, seed, arguments } = options;
        let seed = seed.unwrap_or(unix_us.unsigned_abs());
        let order = input.order;
        let OutputOptions { outputs, selection, condition, raw, names, metadata, flag_clones, leftover } = output;
        let open_all = || {
            let rows = outputs.iter().map(|output| open(output, selection.as_ref(), look, leftover));
            let rows = rows.collect::<Result<Vec<_>, _>>()?;
            let open_file = |path: Option<PathBuf>, leftover| {
                path.map(|path| Destination::named_beside(&path, leftover)).transpose()
            };
            let names = open_file(names, leftover)?.map(NameLog::new);
            // Metadata say nothing without the rows that they are about.
            Ok::<_, OutputError>((rows, open_file(raw, leftover)?, names, open_file(metadata, Leftover::Discard)?))
        };
        let (ready, (rows, raw, names, metadata)) = match source {
            None => {
                let mut input = Input::read(input, &limits, given)?;
                input.ask_names_from(&network.local);
                notices_of(input.files(), &notices);
                let farm = input.farm().map(start_farm).transpose()?;
                let destinations = open_all()?;
                (Ready::open(input, farm, seed, destinations.2.clone(), &notices)?, destinations)
            }
            Some(_) if input.names_any() || !given.is_empty() => {
                return Err(Error::usage("a scan has a source of its own or other targets, and not both"));
            }
            Some((source, plans)) => {
                let opened = Opened::foreign(source, plans);
                (Ready { opened, files: FilesRead::default(), farm: None }, open_all()?)
            }
        };
        sinks.extend(rows.into_iter().map(|sink| Box::new(sink) as Box<dyn Sink + 'a>));
        let Ready { opened, files, farm } = ready;
        let Opened { source, plans, origins, account, reach } = opened;
        if let Some(notice) = account.why_unaskable() {
            notices(&notice);
        }
        let mut settings = limits.settings(reach.loopback_only, seed);
        settings.keep_datagrams = raw.is_some();
        let engine = Engine::new(settings, Arc::clone(&plans), source, epoch.instant);
        let session = Session::open(engine, (reach.ipv4, reach.ipv6), &network)?;
        let clones = flag_clones.then(|| Clones::new(settings.key));
        let assembler = Assembler { plans, origins: origins.clone(), settings, epoch, clones };
        let raw = raw.map(|destination| Raw::new(destination, session.local_addresses(), settings.queries));
        let stopper = session.stopper();
        let writer = Writer::new(assembler, condition, sinks, raw, move || stopper.stop(Stop::Output));
        let settings = SettingsInForce::new(&settings, network.io.as_str());
        let publisher = Publisher { epoch, arguments, seed, order, files, names, metadata, settings, account, origins };
        Ok(Run { session, writer, publisher, _farm: farm })
    }

    /// The targets as they would be asked, and the names of the lists that would be asked. Asks none of them, and looks up
    /// names only with `resolve`; else they are unresolved.
    pub(crate) fn dry_run(self, resolve: bool) -> Result<(Opened, Vec<Arc<str>>), Error> {
        let (_, unix_us) = read_clocks();
        let Self { options, notices, .. } = self;
        options.limits.check()?;
        refuse_collisions(&options)?;
        let mut input = Input::read(options.input, &options.limits, Vec::new())?;
        input.ask_names_from(&options.network.local);
        notices_of(input.files(), &notices);
        let farm = input.farm().map(start_farm).transpose()?;
        let lists = input.forget_lists();
        if !resolve {
            input.ask_no_names();
        }
        let seed = options.seed.unwrap_or(unix_us.unsigned_abs());
        Ok((Ready::open(input, farm, seed, None, &notices)?.opened, lists))
    }
}

impl Run<'_> {
    /// Stops the run, from any thread.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        self.session.stopper()
    }

    /// What becomes of the input.
    pub(crate) fn account(&self) -> &Account {
        &self.publisher.account
    }

    /// Runs until every target has ended and its record has reached its destination, or until it is stopped. `watch` is
    /// called on this thread.
    ///
    /// Returns an error if the scan itself cannot go on. An output that fails ends the run and is in the outcome, which
    /// [`Outcome::into_result`] turns into an error.
    pub fn run(self, watch: &mut dyn Watch) -> Result<Outcome, Error> {
        let (ended, report) = self.session.run(self.writer, watch)?;
        Ok(self.publisher.publish(ended, report))
    }
}

impl Debug for Scan<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scan").field("options", &self.options).finish_non_exhaustive()
    }
}

impl Debug for Run<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Run").finish_non_exhaustive()
    }
}

impl Ready {
    /// Opens what was read, with the servers of the `farm` that was started. Where names lead goes to `log`.
    pub(super) fn open(
        mut input: Input,
        farm: Option<Serving>,
        seed: u64,
        log: Option<NameLog>,
        notices: &Notices,
    ) -> Result<Self, Error> {
        let files = input.take_files();
        let notices = Arc::clone(notices);
        let opened = input.open(farm.as_ref().map(Serving::servers), seed, log, move |line| notices(line))?;
        Ok(Self { opened, files, farm })
    }
}

/// Reports lines that could not be read.
fn notices_of(files: &FilesRead, notices: &Notices) {
    for complaint in &files.complaints {
        notices(complaint);
    }
    let more = files.bad_lines - files.complaints.len() as u64;
    if more > 0 {
        notices(&crate::input::more_lines(more));
    }
    for remark in &files.remarks {
        notices(remark);
    }
}

/// Starts simulated servers, on the usual port if it is free.
pub(super) fn start_farm(settings: FarmSettings) -> Result<Serving, Error> {
    Ok(serve::start(settings, Some(FARM_PORT)).or_else(|_| serve::start(settings, None))?)
}

/// Opens `output`; a table has this `look`.
fn open(
    output: &Output,
    selection: Option<&Selection>,
    look: Look,
    leftover: Leftover,
) -> Result<FileSink, OutputError> {
    let destination = Destination::named_beside(output.path.as_deref().unwrap_or(Path::new("-")), leftover)?;
    Ok(FileSink::new(output.format.writer(selection, look), destination))
}

fn refuse_collisions(options: &ScanOptions) -> Result<(), Error> {
    let OutputOptions { outputs, raw, names, metadata, .. } = &options.output;
    let InputOptions { files, exclude_files, steam, .. } = &options.input;
    let read = files.iter().chain(exclude_files).chain(&steam.key_file).map(PathBuf::as_path);
    let others = [("--metadata", metadata), ("--raw", raw), ("--names", names)];
    collisions::refuse(read, outputs, others.map(|(flag, path)| (flag, path.as_deref())))
}

/// Refuses to send from addresses that are not this machine's.
fn claim_addresses(network: &NetworkOptions) -> Result<(), Error> {
    let ipv4 = network.local.ipv4.map(Into::into);
    for ip in ipv4.into_iter().chain(network.local.ipv6.map(Into::into)) {
        if let Err(reason) = socket::claim(ip) {
            return Err(Error::usage(format!("--source-ip: {ip} is not an address of this machine: {reason}")));
        }
    }
    Ok(())
}

const FARM_PORT: u16 = 27_015;

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::Ipv4Addr;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::config::RateLimit;

    #[test]
    fn a_callback_that_panics_ends_the_run_and_its_panic_is_the_callers() {
        static TAKEN: AtomicU32 = AtomicU32::new(0);
        let mut options = ScanOptions::default();
        options.limits.rate = Some(RateLimit::PerSecond(1_000.0));
        options.limits.host_rate = Some(RateLimit::Max);
        // Nobody listens there, and at this pace all of them take ten seconds.
        let address = |number| SocketAddr::from((Ipv4Addr::from_bits(Ipv4Addr::LOCALHOST.to_bits() + number), 9));
        let targets = (0..TARGETS).map(move |number| {
            TAKEN.fetch_add(1, Ordering::Relaxed);
            address(number)
        });
        let scan = Scan::new(options).with_targets(targets).for_each(|_| panic!("as planned"));
        let reason = catch_unwind(AssertUnwindSafe(|| scan.run())).unwrap_err();
        assert_eq!(reason.downcast_ref(), Some(&"as planned"));
        assert!(TAKEN.load(Ordering::Relaxed) < TARGETS, "the run went on");
    }

    #[test]
    fn an_output_that_fails_is_no_error_of_the_scan_but_one_of_its_result() {
        struct Full(bool);
        impl Sink for Full {
            fn record(&mut self, _: &ServerRecord) -> Result<(), OutputError> {
                let full =
                    || OutputError { operation: "adding to", name: "a sink".into(), source: io::Error::other("full") };
                if self.0 { Err(full()) } else { Ok(()) }
            }

            fn written(&self) -> u64 {
                0
            }
        }
        let run = |is_full| {
            let mut options = ScanOptions::default();
            options.input.targets.push("farm:5".into());
            Scan::new(options).with_sink(Full(is_full)).run().unwrap().into_result()
        };
        assert_eq!(run(true).unwrap_err().to_string(), "adding to a sink: full");
        assert_eq!(run(false).unwrap().ledger().targets.finished, 5);
    }

    const TARGETS: u32 = 10_000;
}

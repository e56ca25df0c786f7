//! Asks question after question until a list is whole: what to do with an answer, how long to wait, when to give up.
//!
//! It neither talks to anybody nor waits by itself, so that hours of waiting take a test no time.

use std::borrow::Cow;
use std::time::Duration;

use super::SCHEME;
use super::partition::{Partition, Question};
use super::server::{Rows, Server, beginning};

/// Whom the questions go to and the servers come from.
pub(super) trait Surroundings {
    /// Asks Steam.
    fn ask(&mut self, question: &Question) -> Answer;
    /// Lets time pass.
    fn wait(&mut self, time: Duration);
    /// Takes a server; false when nobody wants any more.
    fn found(&mut self, server: Server) -> bool;
    /// Tells a person.
    fn say(&mut self, message: &str);
}

/// What came of a question.
#[derive(Debug)]
pub(super) enum Answer {
    /// Rows; none if nothing matches, or if Steam throttles: it does not say which.
    Rows(Rows),
    /// Not now, and this is why; with how long Steam wants to be left alone, if it said so.
    Later(String, Option<Duration>),
    /// Never, and this is why.
    Never(String),
    /// Neither this one nor any other, and this is why.
    Refused(String),
}

/// How patient to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Patience {
    /// Between two questions.
    pub gap: Duration,
    /// Before a question is asked again for the first time; doubled from then on.
    pub first_wait: Duration,
    /// No such wait is longer.
    pub longest_wait: Duration,
}

impl Default for Patience {
    /// 30 questions a minute, and waits of 30 s to 5 min: clients of the API count on 30 to 60 s until it answers again.
    fn default() -> Self {
        Self { gap: Duration::from_secs(2), first_wait: Duration::from_secs(30), longest_wait: Duration::from_mins(5) }
    }
}

/// How it ended.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Complete,
    /// Servers are missing, and this is why.
    Incomplete(String),
    /// The same, and why other lists need not be asked for.
    Refused(String, String),
    /// Nobody wanted any more.
    Unwanted,
}

/// Asks what `partition` wants to know until it wants no more.
pub(super) fn crawl(mut partition: Partition, patience: &Patience, around: &mut impl Surroundings) -> Ending {
    let mut loss = Loss::default();
    let mut lost_before = false;
    let mut in_vain = 0;
    // Bounded: beyond so many questions it is not a list any more.
    for number in 0..MOST_QUESTIONS {
        let Some(question) = partition.poll_question() else { return loss.ending(&partition) };
        if partition.given() >= MOST_SERVERS {
            return Ending::Incomplete(loss.given_up(&partition, "it names more servers than there can be"));
        }
        if in_vain == MOST_IN_VAIN {
            let why = "its answers do not follow the questions: they are full of servers that it named before";
            return Ending::Incomplete(loss.given_up(&partition, why));
        }
        if number > 0 {
            around.wait(patience.gap);
        }
        let rows = match settle(&question, patience, around) {
            Settled::Rows(rows) => {
                lost_before = false;
                rows
            }
            Settled::Never(why) => return Ending::Incomplete(loss.given_up(&partition, &why)),
            Settled::Refused(why) => return Ending::Refused(loss.given_up(&partition, &why), why),
            // One question may be odd; after two in a row it is the others' turn no more.
            Settled::Lost(why, _) if lost_before => {
                return Ending::Incomplete(loss.given_up(&partition, &why));
            }
            Settled::Lost(why, wanted) => {
                around.say(&format!("{}: {why}; going on without", describe(&question)));
                around.wait(wanted);
                lost_before = true;
                loss.unanswered += 1;
                loss.why = why;
                Rows::default()
            }
        };
        loss.odd += rows.odd;
        let full = rows.len() >= question.limit;
        let new = partition.handle_answer(rows);
        in_vain = if full && new.is_empty() { in_vain + 1 } else { 0 };
        if !new.into_iter().all(|server| around.found(server)) {
            return Ending::Unwanted;
        }
    }
    Ending::Incomplete(loss.given_up(&partition, "these are more questions than Steam is asked for one list"))
}

/// What became of a question in the end.
enum Settled {
    Rows(Rows),
    /// No answer, however often it was asked; with how long Steam wants to be left alone.
    Lost(String, Duration),
    Never(String),
    Refused(String),
}

/// Asks until there is an answer.
fn settle(question: &Question, patience: &Patience, around: &mut impl Surroundings) -> Settled {
    let mut wait = patience.first_wait;
    let mut attempt = 0;
    // Bounded by `TRIES`.
    loop {
        attempt += 1;
        let (why, wanted) = match around.ask(question) {
            // Where nothing may be the truth, three times nothing over longer than Steam throttles is believed.
            Answer::Rows(rows) if rows.len() == 0 => {
                if !question.witnessed && attempt == TRIES_FOR_NOTHING {
                    return Settled::Rows(rows);
                }
                let what = if question.witnessed { "no servers, though there are some" } else { "no servers" };
                (format!("Steam answered with {what}, which it also does when it was asked too often"), None)
            }
            Answer::Rows(rows) => return Settled::Rows(rows),
            Answer::Never(why) => return Settled::Never(why),
            Answer::Refused(why) => return Settled::Refused(why),
            Answer::Later(why, wanted) => (why, wanted),
        };
        // Who says "at once" to everybody is asked no sooner than who says nothing.
        let time = wanted.map_or(wait, |wanted| wanted.max(patience.first_wait)).max(patience.gap);
        if time > LONGEST_WANTED {
            return Settled::Refused(format!("{why}; it wants to be left alone for {} s", time.as_secs()));
        }
        if attempt == TRIES {
            return Settled::Lost(format!("{why}; asked {attempt} times"), wanted.unwrap_or_default());
        }
        around.say(&format!("{}: {why}; asking again in {time:?}", describe(question)));
        around.wait(time);
        wait = (wait * 2).min(patience.longest_wait);
    }
}

fn describe(question: &Question) -> String {
    match &*question.filter {
        "" => SCHEME.into(),
        filter => format!("{SCHEME} {}", shortened(filter)),
    }
}

/// What a person needs of a `text` that Steam has a part in.
pub(super) fn shortened(text: &str) -> Cow<'_, str> {
    if text.len() > LONGEST_SAID { format!("{}…", beginning(text, LONGEST_SAID)).into() } else { text.into() }
}

/// What is known to be missing.
#[derive(Default)]
struct Loss {
    /// Questions without an answer, and why the last one has none.
    unanswered: usize,
    why: String,
    /// Rows that could not be read.
    odd: usize,
}

impl Loss {
    /// What is missing if nothing more is asked, because of `why`.
    fn given_up(mut self, partition: &Partition, why: &str) -> String {
        self.unanswered += partition.waiting();
        self.why = why.into();
        self.missing(partition).join("; ")
    }

    fn ending(&self, partition: &Partition) -> Ending {
        match &*self.missing(partition) {
            [] => Ending::Complete,
            missing => Ending::Incomplete(missing.join("; ")),
        }
    }

    fn missing(&self, partition: &Partition) -> Vec<String> {
        let mut missing = Vec::new();
        if self.unanswered > 0 {
            missing.push(format!("{} without an answer: {}", count(self.unanswered, "question"), self.why));
        }
        if let Some(first) = partition.too_big().first() {
            let first = if first.is_empty() { "everything".into() } else { shortened(first) };
            let parts = count(partition.too_big().len(), "part");
            missing.push(format!("{parts} with too many servers and nothing to tell them apart, as in {first}"));
        }
        // Some odd rows are a few odd servers; with nothing else they are an API that is no longer understood.
        if self.odd > 0 && partition.given() == 0 {
            missing.push("not one row can be read".into());
        }
        missing
    }
}

fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}

/// How often a question is asked at most: with the usual waits over seven and a half minutes.
const TRIES: u32 = 5;
/// How often if nothing may be the answer: with the usual waits over a minute and a half.
const TRIES_FOR_NOTHING: u32 = 3;
/// Who wants to be left alone for longer is not asked any more.
const LONGEST_WANTED: Duration = Duration::from_hours(1);
/// Bytes of a text that stand in a message.
const LONGEST_SAID: usize = 200;
/// Steam has some 200,000 servers; who names so many more makes them up.
const MOST_SERVERS: usize = 1 << 20;
/// Full answers in a row without a new server. Some are possible where thousands of servers are alike, until a condition tells
/// them apart: there are 12 that may be in vain, and names with 63 letters, of which each question adds one.
const MOST_IN_VAIN: u32 = 100;
/// Steam allows 100,000 calls a day.
const MOST_QUESTIONS: usize = 10_000;

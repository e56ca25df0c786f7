//! The arguments of `fragscan decode`.

use std::path::PathBuf;

use super::choice::queries;
use super::protocol::chosen;
use super::scan;
use crate::cli::DecodeArgs;
use crate::cli::choice::DecodeFormat;
use crate::cli::protocol::Protocol;
use crate::error::Error;
use crate::output::Format;
use crate::output::dissection::Style;
use crate::protocol::AnyProtocol;
use crate::record::{QuerySet, Selection};

/// What `fragscan decode` does.
pub(crate) struct DecodeConfig {
    /// Files of datagrams; `-` is standard input.
    pub files: Vec<PathBuf>,
    /// What is made of them.
    pub form: Form,
    /// The protocol of all servers, if it was named.
    pub protocol: Option<AnyProtocol>,
}

/// What is made of datagrams.
pub(crate) enum Form {
    /// Each is taken apart, for a person.
    Dissection(Style),
    /// One row a server.
    Rows {
        /// As what.
        format: Format,
        /// What of each record, if it was chosen.
        selection: Option<Selection>,
        /// What the servers were asked, if it was said.
        queries: Option<QuerySet>,
    },
}

/// Reads the arguments of `fragscan decode`.
pub(crate) fn decode(args: DecodeArgs) -> Result<DecodeConfig, Error> {
    let rows = |format| {
        Ok::<_, Error>(Form::Rows {
            format,
            selection: scan::selection(&args.fields, &[format])?,
            queries: (!args.queries.is_empty()).then(|| queries(&args.queries)),
        })
    };
    let form = match args.format {
        DecodeFormat::Table => Form::Dissection(Style::Table),
        DecodeFormat::Markdown => Form::Dissection(Style::Markdown),
        DecodeFormat::Ndjson => rows(Format::Ndjson)?,
        DecodeFormat::Csv => rows(Format::Csv)?,
    };
    if matches!(form, Form::Dissection(_)) && !(args.queries.is_empty() && args.fields.is_empty()) {
        return Err(Error::usage("--queries and --fields are for rows: say --format ndjson or csv"));
    }
    let protocol = match (args.protocol, &form) {
        (Some(Protocol::Named(protocol)), Form::Dissection(_)) => Some(protocol),
        // Lists make no rows.
        (Some(Protocol::Named(protocol)), Form::Rows { .. }) => Some(chosen(protocol)?),
        (Some(Protocol::Auto) | None, _) => None,
    };
    Ok(DecodeConfig { protocol, files: args.files, form })
}
